// The unmodified npm @openai/codex-sdk on our binary.

import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Codex } from "@openai/codex-sdk";
import { bin, finish, stage, test } from "./lib.mjs";

const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

function codex(at) {
  return new Codex({ codexPathOverride: bin, baseUrl: at.url, apiKey: "sk-dummy", env: at.env });
}

function options(at) {
  return { model: "m", workingDirectory: at.work, skipGitRepoCheck: true, sandboxMode: "workspace-write" };
}

await test("run answers with items and usage", async () => {
  const at = await stage({
    turns: [
      { calls: [{ tool: "shell", args: { command: "echo hi > made.txt; cat made.txt" } }] },
      { say: "all done", usage: { in: 7, out: 3 } },
    ],
  });
  const turn = await codex(at).startThread(options(at)).run("go");
  assert.equal(turn.finalResponse, "all done");
  const command = turn.items.find((item) => item.type === "command_execution");
  assert.equal(command.exit_code, 0);
  assert.equal(command.aggregated_output, "hi\n");
  assert.equal(readFileSync(join(at.work, "made.txt"), "utf8"), "hi\n");
  assert.equal(turn.usage.output_tokens, 13);
  at.end();
});

await test("runStreamed tells each event in order", async () => {
  const at = await stage({
    turns: [
      { reasoning: "hm", calls: [{ tool: "write", args: { path: "a.txt", content: "1\n" } }] },
      { say: "done" },
    ],
  });
  const { events } = await codex(at).startThread(options(at)).runStreamed("go");
  const types = [];
  for await (const event of events) types.push(event.item ? `${event.type}:${event.item.type}` : event.type);
  assert.deepEqual(types, [
    "thread.started", "turn.started", "item.completed:reasoning", "item.started:file_change",
    "item.completed:file_change", "item.completed:agent_message", "turn.completed",
  ]);
  at.end();
});

await test("a thread is resumed with its history", async () => {
  const at = await stage({ turns: [{ say: "first" }, { say: "second" }, { say: "third" }] });
  const thread = codex(at).startThread(options(at));
  await thread.run("one");
  await thread.run("two");
  const again = codex(at).resumeThread(thread.id, options(at));
  assert.equal((await again.run("three")).finalResponse, "third");
  const requests = await at.requests();
  const last = JSON.stringify(requests.at(-1).body.input);
  for (const text of ["one", "first", "two", "second", "three"]) assert.ok(last.includes(text), text);
  assert.equal(requests.at(-1).path, "/v1/responses");
  at.end();
});

await test("images reach the model", async () => {
  const at = await stage({ turns: [{ say: "a dot" }] });
  const path = join(at.root, "dot.png");
  writeFileSync(path, PNG);
  const input = [{ type: "text", text: "what is it" }, { type: "local_image", path }];
  await codex(at).startThread(options(at)).run(input);
  const [request] = await at.requests();
  assert.ok(JSON.stringify(request.body).includes("data:image/png;base64,iVBOR"));
  at.end();
});

await test("an output schema is sent", async () => {
  const at = await stage({ turns: [{ say: '{"ok":true}' }] });
  const outputSchema = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"], additionalProperties: false };
  await codex(at).startThread(options(at)).run("go", { outputSchema });
  const [request] = await at.requests();
  assert.deepEqual(request.body.text.format.schema, outputSchema);
  at.end();
});

await test("a failed turn throws the provider's words", async () => {
  const at = await stage({ turns: [{ status: 400, type: "application/json", body: '{"error":{"message":"no such thing"}}' }] });
  await assert.rejects(codex(at).startThread(options(at)).run("go"), /no such thing/);
  at.end();
});

await test("abort ends the turn and its command", async () => {
  const at = await stage({
    turns: [{ calls: [{ tool: "shell", args: { command: "sleep 3; touch late.txt" } }] }, { say: "never" }],
  });
  const stop = new AbortController();
  const { events } = await codex(at).startThread(options(at)).runStreamed("go", { signal: stop.signal });
  const started = Date.now();
  await assert.rejects(async () => {
    for await (const event of events) {
      if (event.type === "item.started") stop.abort();
    }
  });
  assert.ok(Date.now() - started < 3000, "the abort took too long");
  await new Promise((resolve) => setTimeout(resolve, 3500));
  assert.ok(!existsSync(join(at.work, "late.txt")), "the command went on");
  at.end();
});

finish();
