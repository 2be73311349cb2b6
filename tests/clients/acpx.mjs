// npm acpx drives our ACP face: a whole client with files, permissions and sessions of its own.

import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { bin, finish, run, stage, test } from "./lib.mjs";

const acpx = join(dirname(fileURLToPath(import.meta.url)), "node_modules", "acpx", "dist", "cli.js");

function drive(at, ...args) {
  const env = { ...at.env, HOME: at.root };
  return run(process.execPath, [acpx, "--agent", `${bin} acp`, "--cwd", at.work, ...args], { cwd: at.work, env });
}

function frames(out) {
  return out.split("\n").filter(Boolean).map((line) => JSON.parse(line));
}

await test("exec edits three files, one edit failing, through the client's files", async () => {
  const at = await stage({
    turns: [
      { say: "I edit.", calls: [
        { tool: "write", args: { path: "new.txt", content: "made\n" } },
        { tool: "edit", args: { path: "a.txt", old: "nowhere", new: "x" } },
        { tool: "edit", args: { path: "a.txt", old: "one", new: "1" } },
        { tool: "patch", args: { input: "*** Begin Patch\n*** Update File: b.txt\n@@\n-two\n+2\n*** End Patch" } },
      ] },
      { calls: [{ tool: "shell", args: { command: "cat new.txt a.txt b.txt" } }] },
      { say: "done" },
    ],
    strict: ["pairing"],
  });
  at.configure();
  writeFileSync(join(at.work, "a.txt"), "one\n");
  writeFileSync(join(at.work, "b.txt"), "two\n");
  const ran = await drive(at, "--format", "json", "--approve-all", "exec", "go");
  assert.equal(ran.code, 0, ran.err + ran.out);
  assert.equal(readFileSync(join(at.work, "new.txt"), "utf8"), "made\n");
  assert.equal(readFileSync(join(at.work, "a.txt"), "utf8"), "1\n");
  assert.equal(readFileSync(join(at.work, "b.txt"), "utf8"), "2\n");
  const said = frames(ran.out);
  assert.ok(said.some((frame) => frame.method === "fs/write_text_file"), "the client wrote the files");
  assert.ok(said.some((frame) => frame.result?.stopReason === "end_turn"));
  const requests = await at.requests();
  assert.ok(requests.every((request) => request.rejected === null));
  assert.ok(JSON.stringify(requests.at(-1).body).includes("made\\n1\\n2\\n"));
  at.end();
});

await test("a refused permission runs nothing and the turn goes on", async () => {
  const at = await stage({
    turns: [{ calls: [{ tool: "shell", args: { command: "touch ran.txt" } }] }, { say: "understood" }],
  });
  at.configure('approval_policy = "untrusted"\nsandbox_mode = "workspace-write"');
  writeFileSync(join(at.home, "config.toml"), readFileSync(join(at.home, "config.toml"), "utf8").replace('mode = "workspace-write"\n', ""));
  const ran = await drive(at, "--format", "json", "--deny-all", "exec", "go");
  const said = frames(ran.out);
  const asked = said.find((frame) => frame.method === "session/request_permission");
  assert.equal(asked.params.toolCall.title, "touch ran.txt");
  assert.ok(said.some((frame) => frame.params?.update?.content?.text === "understood"), ran.out);
  assert.throws(() => readFileSync(join(at.work, "ran.txt")));
  at.end();
});

await test("sessions are made, prompted and closed", async () => {
  const at = await stage({ turns: [{ say: "first" }, { say: "second" }] });
  at.configure();
  const made = await drive(at, "--format", "json", "sessions", "new");
  assert.equal(made.code, 0, made.err);
  const one = await drive(at, "--format", "text", "--approve-all", "prompt", "one");
  assert.match(one.out, /first/, one.err);
  const two = await drive(at, "--format", "text", "--approve-all", "prompt", "two");
  assert.match(two.out, /second/, two.err);
  const requests = await at.requests();
  assert.ok(JSON.stringify(requests.at(-1).body.messages).includes("first"));
  await drive(at, "sessions", "close");
  at.end();
});

await test("a cancel from beside ends the turn and its command, and the session goes on", async () => {
  const at = await stage({
    turns: [
      { calls: [{ tool: "shell", args: { command: "touch began.txt; sleep 4; touch late.txt" } }] },
      { say: "after the cancel" },
    ],
    strict: ["pairing"],
  });
  at.configure();
  assert.equal((await drive(at, "sessions", "new")).code, 0);
  const underWay = drive(at, "--format", "json", "--approve-all", "prompt", "go");
  const until = Date.now() + 20_000;
  while (!existsSync(join(at.work, "began.txt"))) {
    assert.ok(Date.now() < until, "the command did not begin");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const began = Date.now();
  assert.equal((await drive(at, "cancel")).code, 0);
  const ran = await underWay;
  assert.ok(Date.now() - began < 3_500, "the cancel took too long");
  assert.match(ran.out, /"stopReason":"cancelled"/);
  const next = await drive(at, "--format", "text", "--approve-all", "prompt", "and now");
  assert.match(next.out, /after the cancel/, next.err);
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, began + 4_500 - Date.now())));
  assert.ok(!existsSync(join(at.work, "late.txt")), "the command went on");
  const requests = await at.requests();
  assert.ok(requests.every((request) => request.rejected === null));
  await drive(at, "sessions", "close");
  at.end();
});

await test("without the client's files the agent writes the disk itself", async () => {
  const at = await stage({
    turns: [{ calls: [{ tool: "write", args: { path: "new.txt", content: "made\n" } }] }, { say: "done" }],
  });
  at.configure();
  const ran = await drive(at, "--no-fs", "--format", "json", "--approve-all", "exec", "go");
  assert.equal(ran.code, 0, ran.err + ran.out);
  assert.equal(readFileSync(join(at.work, "new.txt"), "utf8"), "made\n");
  assert.ok(!frames(ran.out).some((frame) => frame.method?.startsWith("fs/")), "no file method was offered");
  at.end();
});

finish();
