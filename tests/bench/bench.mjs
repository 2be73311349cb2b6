// What agents cost on the same work: start, first request, first text, 20,000 deltas, memory, exit.
//
// node bench.mjs INTERPRETER PEERS ROUNDS; writes a Markdown table to standard output, progress to standard error.

import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import readline from "node:readline";
import { performance } from "node:perf_hooks";

const [, , interpreter, peers, roundsText] = process.argv;
const rounds = Number(roundsText ?? 3);
const here = path.dirname(new URL(import.meta.url).pathname);
const TICKS = 100;

class Mock {
  static async start() {
    const mock = new Mock();
    mock.child = spawn(process.execPath, [path.join(here, "mock.mjs")], { stdio: ["ignore", "pipe", "inherit"] });
    mock.asked = [];
    const lines = readline.createInterface({ input: mock.child.stdout });
    mock.port = await new Promise((resolve) => {
      lines.on("line", (line) => {
        const said = JSON.parse(line);
        if (said.port) resolve(said.port);
        else mock.asked.push(said.asked);
      });
    });
    return mock;
  }
  get url() { return `http://127.0.0.1:${this.port}`; }
}

/** A process and all below it. */
function tree(pid) {
  const found = [pid];
  for (let at = 0; at < found.length; at += 1) {
    try {
      for (const task of fs.readdirSync(`/proc/${found[at]}/task`)) {
        const text = fs.readFileSync(`/proc/${found[at]}/task/${task}/children`, "utf8");
        found.push(...text.split(" ").filter(Boolean).map(Number));
      }
    } catch { /* it has ended */ }
  }
  return found;
}

function cpu(pid) {
  let ticks = 0;
  for (const each of tree(pid)) {
    try {
      const fields = fs.readFileSync(`/proc/${each}/stat`, "utf8").split(") ")[1].split(" ");
      ticks += Number(fields[11]) + Number(fields[12]);
    } catch { /* it has ended */ }
  }
  return ticks / TICKS;
}

function pss(pid) {
  let kb = 0;
  for (const each of tree(pid)) {
    try { kb += Number(/^Pss:\s+(\d+)/m.exec(fs.readFileSync(`/proc/${each}/smaps_rollup`, "utf8"))[1]); } catch { /* it has ended */ }
  }
  return kb / 1024;
}

class Agent {
  constructor(launch, cwd) {
    this.started = performance.now();
    this.startedAt = Date.now();
    this.child = spawn(launch.command, launch.args, { cwd, env: launch.env, stdio: ["pipe", "pipe", "ignore"] });
    this.next = 1;
    this.waiting = new Map();
    this.updates = new Map();
    readline.createInterface({ input: this.child.stdout }).on("line", (line) => this.hear(line));
  }
  hear(line) {
    let frame;
    try { frame = JSON.parse(line); } catch { return; }
    if (frame.method === "session/update") {
      const { sessionId, update } = frame.params;
      if (update.sessionUpdate === "agent_message_chunk") {
        const seen = this.updates.get(sessionId) ?? { count: 0, text: 0, first: performance.now() };
        seen.count += 1;
        seen.text += update.content.text?.length ?? 0;
        this.updates.set(sessionId, seen);
      }
    } else if (frame.method && frame.id !== undefined) {
      this.write({ jsonrpc: "2.0", id: frame.id, error: { code: -32601, message: "not here" } });
    } else if (this.waiting.has(frame.id)) {
      this.waiting.get(frame.id)(frame);
      this.waiting.delete(frame.id);
    }
  }
  write(frame) { this.child.stdin.write(`${JSON.stringify(frame)}\n`); }
  ask(method, params, limit = 120_000) {
    const id = this.next++;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${method}: no answer`)), limit);
      this.waiting.set(id, (frame) => {
        clearTimeout(timer);
        if (frame.error) reject(new Error(`${method}: ${frame.error.message}`));
        else resolve(frame.result);
      });
      this.write({ jsonrpc: "2.0", id, method, params });
    });
  }
  async exit() {
    const at = performance.now();
    const gone = new Promise((resolve) => this.child.once("exit", resolve));
    this.child.stdin.end();
    await Promise.race([gone, new Promise((resolve) => setTimeout(resolve, 5000))]);
    this.child.kill("SIGKILL");
    return performance.now() - at;
  }
}

const prompt = (text) => [{ type: "text", text }];

async function measure(name, launch, work, mock) {
  const agent = new Agent(launch, work);
  try {
    const asked = mock.asked.length;
    await agent.ask("initialize", { protocolVersion: 1, clientCapabilities: { fs: { readTextFile: false, writeTextFile: false } }, clientInfo: { name: "bench", version: "1" } });
    const row = { initialize: performance.now() - agent.started };
    if (launch.authenticate) await agent.ask("authenticate", { methodId: launch.authenticate });
    let at = performance.now();
    const { sessionId } = await agent.ask("session/new", { cwd: work, mcpServers: [] });
    row.new = performance.now() - at;
    at = performance.now();
    await agent.ask("session/prompt", { sessionId, prompt: prompt("hello") });
    row.request = (mock.asked[asked] ?? NaN) - agent.startedAt;
    row.first = agent.updates.get(sessionId).first - at;
    agent.updates.delete(sessionId);
    at = performance.now();
    await agent.ask("session/prompt", { sessionId, prompt: prompt("again") });
    row.second = agent.updates.get(sessionId).first - at;
    row.idle = pss(agent.child.pid);
    agent.updates.delete(sessionId);
    const before = cpu(agent.child.pid);
    let peak = 0;
    const watch = setInterval(() => { peak = Math.max(peak, pss(agent.child.pid)); }, 50);
    at = performance.now();
    await agent.ask("session/prompt", { sessionId, prompt: prompt("words=20000") });
    row.wall = (performance.now() - at) / 1000;
    clearInterval(watch);
    row.peak = Math.max(peak, pss(agent.child.pid));
    row.cpu = cpu(agent.child.pid) - before;
    const seen = agent.updates.get(sessionId);
    row.updates = seen.count;
    row.text = seen.text;
    if (launch.eight) {
      const sessions = await Promise.all(Array.from({ length: 8 }, () => agent.ask("session/new", { cwd: work, mcpServers: [] })));
      const watch = setInterval(() => { row.eight = Math.max(row.eight ?? 0, pss(agent.child.pid)); }, 20);
      await Promise.all(sessions.map(({ sessionId }) => agent.ask("session/prompt", { sessionId, prompt: prompt("words=20000") })));
      clearInterval(watch);
    }
    row.exit = await agent.exit();
    return row;
  } catch (error) {
    process.stderr.write(`${name}: ${error.message}\n`);
    agent.child.kill("SIGKILL");
    return null;
  }
}

function timed(command, args, options) {
  return new Promise((resolve) => {
    const at = performance.now();
    const child = spawn("/usr/bin/env", ["bash", "-c", `ulimit -c 0; TIMEFORMAT='%U %S'; time "$@"`, "x", command, ...args], { ...options, stdio: ["ignore", "ignore", "pipe"] });
    let err = "";
    let peak = 0;
    const watch = setInterval(() => { peak = Math.max(peak, pss(child.pid)); }, 5);
    child.stderr.on("data", (data) => (err += data));
    child.on("close", (code) => {
      clearInterval(watch);
      const [user, sys] = err.trim().split("\n").at(-1).split(" ").map(Number);
      resolve({ code, wall: performance.now() - at, cpu: (user + sys) * 1000, peak });
    });
  });
}

const median = (list) => { const sorted = list.filter((value) => Number.isFinite(value)).sort((a, b) => a - b); return sorted[Math.floor(sorted.length / 2)]; };
const best = (list) => Math.min(...list.filter((value) => Number.isFinite(value)));

function launches(root, mock) {
  const home = path.join(root, "home");
  fs.mkdirSync(home, { recursive: true });
  const env = { PATH: process.env.PATH, HOME: home, LANG: "C.UTF-8", TERM: "xterm", NO_COLOR: "1", DISABLE_TELEMETRY: "1", DISABLE_AUTOUPDATER: "1", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", IS_SANDBOX: "1" };
  const ours = path.join(home, "ours");
  fs.mkdirSync(ours, { recursive: true });
  fs.writeFileSync(path.join(ours, "config.toml"), `model_provider = "mock"\nmodel = "m"\n[model_providers.mock]\nbase_url = "${mock.url}/v1"\nwire_api = "responses"\n`);
  const codex = path.join(home, "codex");
  fs.mkdirSync(codex, { recursive: true });
  fs.writeFileSync(path.join(codex, "config.toml"), `model_provider = "mock"\nmodel = "gpt-5.5"\ncheck_for_update_on_startup = false\n[analytics]\nenabled = false\n[model_providers.mock]\nname = "mock"\nbase_url = "${mock.url}/v1"\nwire_api = "responses"\nenv_key = "OPENAI_API_KEY"\n`);
  const opencode = path.join(home, ".config", "opencode");
  fs.mkdirSync(opencode, { recursive: true });
  fs.writeFileSync(path.join(opencode, "opencode.json"), JSON.stringify({ autoupdate: false, share: "disabled", model: "mock/m", small_model: "mock/m", provider: { mock: { npm: "@ai-sdk/openai-compatible", name: "mock", options: { baseURL: `${mock.url}/v1`, apiKey: "sk-dummy" }, models: { m: { name: "m" } } } } }));
  const bin = (name) => path.join(peers, "node_modules", ".bin", name);
  return {
    "Open Interpreter": { command: interpreter, args: ["acp"], env: { ...env, INTERPRETER_HOME: ours }, eight: true },
    "codex-acp": { command: bin("codex-acp"), args: [], env: { ...env, CODEX_HOME: codex, OPENAI_API_KEY: "sk-dummy", CODEX_API_KEY: "sk-dummy" }, authenticate: "api-key" },
    "claude-agent-acp": { command: bin("claude-agent-acp"), args: [], env: { ...env, ANTHROPIC_BASE_URL: mock.url, ANTHROPIC_API_KEY: "sk-dummy" } },
    "opencode": { command: bin("opencode"), args: ["acp"], env },
    codexHome: codex, ours, env, bin,
  };
}

const root = fs.mkdtempSync(path.join(os.tmpdir(), "bench-"));
const work = path.join(root, "work");
fs.mkdirSync(path.join(work, ".git"), { recursive: true });
fs.writeFileSync(path.join(work, ".git", "HEAD"), "ref: refs/heads/main\n");
for (let at = 0; at < 50_000; at += 1) {
  const folder = path.join(work, `d${Math.floor(at / 250)}`);
  if (at % 250 === 0) fs.mkdirSync(folder);
  fs.writeFileSync(path.join(folder, `f${at}.txt`), `${at}\n`);
}
const mock = await Mock.start();
const { codexHome, ours, env, bin, ...agents } = launches(root, mock);
const table = {};
for (const [name, launch] of Object.entries(agents)) {
  const rows = [];
  for (let round = 0; round < rounds; round += 1) {
    process.stderr.write(`${name} ${round + 1}/${rounds}\n`);
    const row = await measure(name, launch, work, mock);
    if (row) rows.push(row);
  }
  table[name] = rows;
}

const out = [];
const shown = (rows, key, digits) => (rows.length ? `${median(rows.map((row) => row[key]))?.toFixed(digits)} (${best(rows.map((row) => row[key])).toFixed(digits)})` : "failed");
const columns = [["spawn to initialize, ms", "initialize", 0], ["session/new, ms", "new", 1], ["spawn to first model request, ms", "request", 0], ["turn 1 to first text, ms", "first", 1], ["turn 2 to first text, ms", "second", 1], ["20,000 deltas: wall, s", "wall", 2], ["CPU, s", "cpu", 2], ["updates", "updates", 0], ["PSS idle, MB", "idle", 1], ["peak PSS, MB", "peak", 1], ["exit after EOF, ms", "exit", 0]];
out.push(`| agent | ${columns.map(([title]) => title).join(" | ")} |`, `|---|${columns.map(() => "---|").join("")}`);
for (const [name, rows] of Object.entries(table)) out.push(`| ${name} | ${columns.map(([, key, digits]) => shown(rows, key, digits)).join(" | ")} |`);
out.push("", "Median (best) of the rounds.", "");
const mine = table["Open Interpreter"];
const others = Object.entries(table).filter(([name, rows]) => name !== "Open Interpreter" && rows.length).map(([, rows]) => rows);
out.push("| measure | ours | best peer | ratio | goal |", "|---|---|---|---|---|");
for (const [title, key, goal] of [["spawn to initialize", "initialize", 1 / 20], ["spawn to first model request", "request", 1 / 5], ["turn 1 to first text", "first", 1 / 5], ["turn 2 to first text", "second", 1 / 5], ["CPU of 20,000 deltas", "cpu", 1 / 10], ["peak PSS", "peak", 1 / 8]]) {
  const own = median(mine.map((row) => row[key]));
  const peer = Math.min(...others.map((rows) => median(rows.map((row) => row[key]))));
  out.push(`| ${title} | ${own?.toFixed(2)} | ${peer.toFixed(2)} | 1/${(peer / own).toFixed(1)} | 1/${1 / goal} |`);
}
out.push(`| session/new in 50,000 files, ms | ${median(mine.map((row) => row.new))?.toFixed(1)} | | | 15 |`);
out.push(`| eight sessions of 20,000 deltas together, peak PSS MB | ${median(mine.map((row) => row.eight))?.toFixed(1)} | | | 80 |`);
out.push(`| exit after EOF, ms | ${median(mine.map((row) => row.exit))?.toFixed(0)} | | | 50 |`, "");

const execs = { "interpreter exec": [], "codex exec": [] };
for (let round = 0; round < Math.max(5, rounds); round += 1) {
  execs["interpreter exec"].push(await timed(interpreter, ["exec", "--json", "--skip-git-repo-check", "hello"], { cwd: work, env: { ...env, INTERPRETER_HOME: ours } }));
  execs["codex exec"].push(await timed(bin("codex"), ["exec", "--json", "--skip-git-repo-check", "hello"], { cwd: work, env: { ...env, CODEX_HOME: codexHome, OPENAI_API_KEY: "sk-dummy" } }));
}
out.push("| one turn | wall, ms | CPU, ms | peak PSS, MB | exit codes |", "|---|---|---|---|---|");
for (const [name, rows] of Object.entries(execs)) out.push(`| ${name} | ${shown(rows, "wall", 0)} | ${shown(rows, "cpu", 0)} | ${shown(rows, "peak", 1)} | ${[...new Set(rows.map((row) => row.code))].join(" ")} |`);
console.log(out.join("\n"));
mock.child.kill();
fs.rmSync(root, { recursive: true, force: true });
process.exit(0);
