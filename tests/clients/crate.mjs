// A published crate with its tests (strsim 0.11.1, as cargo fetched it for our own build) is opened through
// acpx, edited in three files with one failing edit, tested inside of the wall, killed with -9 in
// mid-command, and resumed to the end.

import assert from "node:assert/strict";
import { spawn, execFileSync } from "node:child_process";
import { cpSync, existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { bin, finish, run, stage, test } from "./lib.mjs";

const CRATE = "strsim-0.11.1";
const acpx = join(dirname(fileURLToPath(import.meta.url)), "node_modules", "acpx", "dist", "cli.js");

function source() {
  const registry = join(process.env.CARGO_HOME ?? join(process.env.HOME, ".cargo"), "registry", "src");
  const found = readdirSync(registry).map((index) => join(registry, index, CRATE)).find((path) => existsSync(path));
  assert.ok(found, `${CRATE} is not fetched; build the workspace first`);
  return found;
}

/** The agent that acpx started. */
function agentOf(pid) {
  const children = (of) => {
    try {
      return execFileSync("pgrep", ["-P", String(of)], { encoding: "utf8" }).trim().split("\n").filter(Boolean);
    } catch {
      return [];
    }
  };
  const all = [String(pid)];
  for (let at = 0; at < all.length; at += 1) all.push(...children(all[at]));
  return all.find((each) => {
    try {
      return readFileSync(`/proc/${each}/cmdline`, "utf8").split("\0").slice(0, 2).join(" ") === `${bin} acp`;
    } catch {
      return false;
    }
  });
}

await test(`${CRATE}: edited, tested, killed, resumed`, async () => {
  const cargo = { tool: "shell", args: { command: "cargo test --offline 2>&1 | tail -n 40", timeout_ms: 300000 } };
  const at = await stage({
    turns: [
      { say: "I read it.", calls: [{ tool: "read", args: { path: "src/lib.rs", limit: 20 } }] },
      { calls: [
        { tool: "edit", args: { path: "src/lib.rs", old: "//! This library implements string similarity metrics.", new: "//! String similarity metrics." } },
        { tool: "edit", args: { path: "src/lib.rs", old: "this text stands nowhere", new: "x" } },
        { tool: "edit", args: { path: "README.md", old: "strsim", new: "strsim", all: true } },
        { tool: "patch", args: { input: "*** Begin Patch\n*** Add File: tests/more.rs\n+#[test]\n+fn same() {\n+    assert_eq!(strsim::levenshtein(\"a\", \"a\"), 0);\n+}\n*** Add File: NOTES.md\n+edited\n*** End Patch" } },
      ] },
      { calls: [cargo] },
      { calls: [{ tool: "shell", args: { command: "touch began; sleep 120", timeout_ms: 200000 } }] },
      { say: "I go on.", calls: [cargo] },
      { say: "all done" },
    ],
    strict: ["pairing"],
  });
  at.configure();
  cpSync(source(), at.work, { recursive: true });
  execFileSync("git", ["init", "-q"], { cwd: at.work });
  const client = spawn(process.execPath, [acpx, "--agent", `${bin} acp`, "--cwd", at.work, "--format", "json", "--approve-all", "exec", "go"],
    { cwd: at.work, env: { ...at.env, HOME: at.root, CARGO_HOME: process.env.CARGO_HOME ?? join(process.env.HOME, ".cargo"), RUSTUP_HOME: process.env.RUSTUP_HOME ?? join(process.env.HOME, ".rustup") }, stdio: ["ignore", "ignore", "ignore"] });
  const until = Date.now() + 240_000;
  while (!existsSync(join(at.work, "began"))) {
    assert.ok(Date.now() < until && client.exitCode === null, "the last command did not begin");
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const agent = agentOf(client.pid);
  assert.ok(agent, "the agent is not found");
  process.kill(Number(agent), "SIGKILL");
  client.kill();
  await new Promise((resolve) => setTimeout(resolve, 500));
  const resumed = await run(bin, ["exec", "--json", "resume", "--last", "go on"], { cwd: at.work, env: at.env, timeout: 240_000 });
  assert.equal(resumed.code, 0, resumed.out + resumed.err);
  assert.ok(resumed.out.includes("all done"));
  const requests = await at.requests();
  assert.deepEqual(requests.filter((request) => request.rejected), []);
  const all = JSON.stringify(requests.at(-1).body);
  assert.ok(all.includes("this does not stand in the file"), "the failing edit was told");
  assert.ok((all.match(/test result: ok/g) ?? []).length >= 2, "the tests passed inside of the wall, twice");
  assert.ok(all.includes("Interrupted. It may have happened"), "the killed command was told");
  assert.match(readFileSync(join(at.work, "src", "lib.rs"), "utf8"), /^\/\/! String similarity metrics\./m);
  assert.ok(existsSync(join(at.work, "tests", "more.rs")) && existsSync(join(at.work, "NOTES.md")));
  at.end();
});

finish();
