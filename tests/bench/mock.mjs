// The same model for every agent: Chat Completions, Responses and Messages, streaming as many words as asked.
//
// The prompt's text "words=N" asks for N words; anything else gets two. Prints {"port":N}.

import http from "node:http";

const words = (count) => Array.from({ length: count }, (_, at) => `w${(at * 7919) % 100003} `);

function count(body) {
  const found = [...body.matchAll(/words=(\d+)/g)].at(-1);
  return found ? Number(found[1]) : 2;
}

const event = (name, data) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;

function chat(list) {
  const chunk = (delta, finish = null) =>
    `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
  const usage = { id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [], usage: { prompt_tokens: 10, completion_tokens: list.length, total_tokens: 10 + list.length } };
  return [chunk({ role: "assistant", content: "" }), ...list.map((word) => chunk({ content: word })), chunk({}, "stop"), `data: ${JSON.stringify(usage)}\n\ndata: [DONE]\n\n`];
}

function responses(list) {
  const item = { type: "message", id: "m1", role: "assistant", status: "in_progress", content: [] };
  const done = { ...item, status: "completed", content: [{ type: "output_text", text: list.join(""), annotations: [] }] };
  const usage = { input_tokens: 10, input_tokens_details: { cached_tokens: 0 }, output_tokens: list.length, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 10 + list.length };
  let seq = 0;
  const say = (type, rest) => event(type, { type, sequence_number: seq++, ...rest });
  return [
    say("response.created", { response: { id: "r1", object: "response", status: "in_progress", output: [] } }),
    say("response.output_item.added", { output_index: 0, item }),
    say("response.content_part.added", { item_id: "m1", output_index: 0, content_index: 0, part: { type: "output_text", text: "", annotations: [] } }),
    ...list.map((word) => say("response.output_text.delta", { item_id: "m1", output_index: 0, content_index: 0, delta: word })),
    say("response.output_item.done", { output_index: 0, item: done }),
    say("response.completed", { response: { id: "r1", object: "response", status: "completed", output: [done], usage } }),
  ];
}

function messages(list, model) {
  return [
    event("message_start", { type: "message_start", message: { id: "msg1", type: "message", role: "assistant", model, content: [], stop_reason: null, stop_sequence: null, usage: { input_tokens: 10, output_tokens: 1 } } }),
    event("content_block_start", { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }),
    ...list.map((word) => event("content_block_delta", { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: word } })),
    event("content_block_stop", { type: "content_block_stop", index: 0 }),
    event("message_delta", { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage: { output_tokens: list.length } }),
    event("message_stop", { type: "message_stop" }),
  ];
}

const server = http.createServer((request, response) => {
  let body = "";
  request.on("data", (data) => (body += data));
  request.on("end", () => {
    const path = new URL(request.url, "http://x").pathname;
    if (request.method === "POST") process.stdout.write(`{"asked":${Date.now()}}\n`);
    if (request.method !== "POST" || !/(completions|responses|messages)$/.test(path)) {
      response.writeHead(path.endsWith("/models") ? 200 : 404, { "content-type": "application/json" });
      return response.end(JSON.stringify({ object: "list", data: [{ id: "m", object: "model" }], models: [] }));
    }
    let parsed = {};
    try { parsed = JSON.parse(body); } catch { /* then it is asked for two words */ }
    const list = words(count(body));
    const parts = path.endsWith("completions") ? chat(list) : path.endsWith("responses") ? responses(list) : messages(list, parsed.model ?? "m");
    if (parsed.stream === false || (path.endsWith("messages") && !parsed.stream)) {
      response.writeHead(200, { "content-type": "application/json" });
      return response.end(JSON.stringify({ id: "msg1", type: "message", role: "assistant", model: parsed.model, content: [{ type: "text", text: list.join("") }], stop_reason: "end_turn", usage: { input_tokens: 10, output_tokens: 2 } }));
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    let at = 0;
    const pump = () => {
      while (at < parts.length) {
        const chunk = parts.slice(at, at + 64).join("");
        at += 64;
        if (!response.write(chunk)) return response.once("drain", pump);
      }
      response.end();
    };
    pump();
  });
});
server.listen(0, "127.0.0.1", () => console.log(JSON.stringify({ port: server.address().port })));
