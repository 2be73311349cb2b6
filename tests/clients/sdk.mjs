// npm @agentclientprotocol/sdk, which checks every message of an agent against the schema: its stable and its
// unstable entry point.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import * as stable from "@agentclientprotocol/sdk";
import * as unstable from "@agentclientprotocol/sdk/unstable";
import { bin, finish, stage, test } from "./lib.mjs";

/** Runs `body` with a connected agent; the updates and questions that came, in order. */
async function connected(acp, at, body) {
  const child = spawn(bin, ["acp"], { cwd: at.work, env: at.env, stdio: ["pipe", "pipe", "inherit"] });
  const seen = { updates: [], asked: [] };
  const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
  try {
    await acp
      .client({ name: "tests" })
      .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
        seen.asked.push(params);
        return { outcome: { outcome: "selected", optionId: params.options[0].optionId } };
      })
      .onRequest(acp.methods.client.fs.readTextFile, ({ params }) => ({ content: readFileSync(params.path, "utf8") }))
      .onRequest(acp.methods.client.fs.writeTextFile, ({ params }) => {
        writeFileSync(params.path, params.content);
        return {};
      })
      .onNotification(acp.methods.client.session.update, ({ params }) => {
        seen.updates.push(params);
      })
      .connectWith(stream, (agent) => body(agent, seen));
  } finally {
    child.kill("SIGKILL");
  }
  return seen;
}

const kinds = (seen) => new Set(seen.updates.map(({ update }) => update.sessionUpdate));

function text(seen) {
  const chunks = seen.updates.filter(({ update }) => update.sessionUpdate === "agent_message_chunk");
  return chunks.map(({ update }) => update.content.text).join("");
}

/** Answers overtake updates inside of the client: both are its own promises. */
async function heard(seen, said) {
  for (let waited = 0; text(seen) !== said && waited < 5_000; waited += 10) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.equal(text(seen), said);
}

const SCRIPT = {
  turns: [
    { reasoning: "hm", say: "I look. ", calls: [
      { tool: "update_plan", args: { steps: [{ step: "look", status: "in_progress" }] } },
      { tool: "read", args: { path: "a.txt" } },
      { tool: "edit", args: { path: "a.txt", old: "one", new: "1" } },
      { tool: "edit", args: { path: "a.txt", old: "nowhere", new: "x" } },
    ] },
    { calls: [{ tool: "shell", args: { command: "cat a.txt; touch made.txt" } }] },
    { say: "done" },
    { say: "again" },
  ],
  strict: ["pairing"],
};

for (const [name, acp] of [["stable", stable], ["unstable", unstable]]) {
  const { agent: methods } = acp.methods;

  await test(`${name}: a session from its beginning to a load`, async () => {
    const at = await stage(SCRIPT);
    at.configure();
    writeFileSync(join(at.work, "a.txt"), "one\n");
    let session;
    const first = await connected(acp, at, async (agent, seen) => {
      const said = await agent.request(methods.initialize, {
        protocolVersion: acp.PROTOCOL_VERSION,
        clientCapabilities: { fs: { readTextFile: true, writeTextFile: true } },
      });
      assert.equal(said.protocolVersion, acp.PROTOCOL_VERSION);
      assert.ok(said.authMethods.length > 0);
      const made = await agent.request(methods.session.new, { cwd: at.work, mcpServers: [] });
      session = made.sessionId;
      for (const option of made.configOptions) {
        if (option.type !== "select") continue;
        const value = option.currentValue;
        await agent.request(methods.session.setConfigOption, { sessionId: session, configId: option.id, value });
      }
      const prompt = [{ type: "text", text: "go" }];
      const end = await agent.request(methods.session.prompt, { sessionId: session, prompt });
      assert.equal(end.stopReason, "end_turn");
      await heard(seen, "I look. done");
    });
    assert.equal(readFileSync(join(at.work, "a.txt"), "utf8"), "1\n");
    for (const kind of ["agent_thought_chunk", "tool_call", "tool_call_update", "plan", "available_commands_update"]) {
      assert.ok(kinds(first).has(kind), `${kind} of ${[...kinds(first)]}`);
    }
    await connected(acp, at, async (agent, seen) => {
      await agent.request(methods.initialize, { protocolVersion: acp.PROTOCOL_VERSION });
      const { sessions } = await agent.request(methods.session.list, { cwd: at.work });
      assert.deepEqual(sessions.map((row) => row.sessionId), [session]);
      await agent.request(methods.session.load, { sessionId: session, cwd: at.work, mcpServers: [] });
      await heard(seen, "I look. done");
      const prompt = [{ type: "text", text: "more" }];
      const end = await agent.request(methods.session.prompt, { sessionId: session, prompt });
      assert.equal(end.stopReason, "end_turn");
      await heard(seen, "I look. doneagain");
    });
    const requests = await at.requests();
    assert.ok(requests.every((request) => request.rejected === null));
    at.end();
  });

  await test(`${name}: a question, a cancel and refusals`, async () => {
    const at = await stage({
      turns: [
        { calls: [{ tool: "shell", args: { command: "touch asked.txt" } }] },
        { calls: [{ tool: "shell", args: { command: "sleep 30" } }] },
      ],
    });
    at.configure('approval_policy = "untrusted"');
    writeFileSync(
      join(at.home, "config.toml"),
      readFileSync(join(at.home, "config.toml"), "utf8").replace('mode = "workspace-write"\n', 'sandbox_mode = "workspace-write"\n'),
    );
    const seen = await connected(acp, at, async (agent, seen) => {
      await agent.request(methods.initialize, { protocolVersion: acp.PROTOCOL_VERSION });
      const { sessionId } = await agent.request(methods.session.new, { cwd: at.work, mcpServers: [] });
      const end = agent.request(methods.session.prompt, { sessionId, prompt: [{ type: "text", text: "go" }] });
      while (seen.asked.length < 2) await new Promise((resolve) => setTimeout(resolve, 10));
      await agent.notify(methods.session.cancel, { sessionId });
      assert.equal((await end).stopReason, "cancelled");
      const wrong = [
        [methods.session.prompt, { sessionId: "none", prompt: [] }],
        [methods.session.new, { cwd: "relative", mcpServers: [] }],
        [methods.session.setMode, { sessionId, modeId: "none" }],
        [methods.session.list, { cursor: "none" }],
      ];
      for (const [method, params] of wrong) {
        await assert.rejects(agent.request(method, params), (error) => error.code < 0, method);
      }
    });
    assert.ok(seen.asked[0].toolCall.rawInput && seen.asked[0].options.length >= 2);
    at.end();
  });
}

finish();
