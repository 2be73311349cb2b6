// What the client tests share: the scripted model server, a workspace, a report.

import { spawn } from "node:child_process";
import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import readline from "node:readline";

export const bin = process.env.INTERPRETER_BIN;
const server = process.env.MODEL_SERVER_BIN;

let passed = 0;
let failed = 0;

/** Runs one test and prints how it went. */
export async function test(name, body) {
  try {
    await body();
    passed += 1;
    console.log(`ok ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`not ok ${name}: ${error?.stack ?? error}`);
  }
}

/** The closing line, and the exit code. */
export function finish() {
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed === 0 ? 0 : 1);
}

/** A folder with a workspace and a home, and a model that plays the script. */
export async function stage(script) {
  const root = mkdtempSync(join(tmpdir(), "clients-"));
  const work = join(root, "work");
  const home = join(root, "home");
  mkdirSync(work);
  mkdirSync(home);
  const file = join(root, "script.json");
  writeFileSync(file, JSON.stringify(script));
  const child = spawn(server, [file, work], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = readline.createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const { port } = JSON.parse((await lines.next()).value);
  const url = `http://127.0.0.1:${port}/v1`;
  const env = { ...process.env, INTERPRETER_HOME: home };
  delete env.OPENAI_API_KEY;
  return {
    root, work, home, url, env,
    configure(more = "") {
      const text = `model_provider = "mock"\nmodel = "m"\nmode = "workspace-write"\n${more}\n[model_providers.mock]\nbase_url = "${url}"\nwire_api = "chat"\n`;
      writeFileSync(join(home, "config.toml"), text);
    },
    /** Everything the model was asked. */
    async requests() {
      child.stdin.write("\n");
      const all = [];
      for (;;) {
        const { value } = await lines.next();
        if (value === "end") return all;
        all.push(JSON.parse(value));
      }
    },
    end() {
      child.stdin.end();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

/** Runs a program to its end. */
export function run(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
    let out = "";
    let err = "";
    child.stdout.on("data", (data) => (out += data));
    child.stderr.on("data", (data) => (err += data));
    const timer = setTimeout(() => child.kill("SIGKILL"), options.timeout ?? 60_000);
    child.on("error", reject);
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      resolve({ code, signal, out, err });
    });
  });
}
