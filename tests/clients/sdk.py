"""PyPI agent-client-protocol, whose models are made from another line of the schema than the npm package's."""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import acp
from acp import PROTOCOL_VERSION, spawn_agent_process, text_block
from acp.schema import AllowedOutcome, ClientCapabilities, FileSystemCapabilities, RequestPermissionResponse


class Editor(acp.Client):
    def __init__(self):
        self.updates, self.asked, self.written = [], [], []

    def on_connect(self, conn):
        pass

    async def session_update(self, session_id, update, **more):
        self.updates.append(update)

    async def request_permission(self, options, session_id, tool_call, **more):
        self.asked.append(tool_call)
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=options[0].option_id))

    async def read_text_file(self, path, session_id, limit=None, line=None, **more):
        return acp.ReadTextFileResponse(content=Path(path).read_text())

    async def write_text_file(self, content, path, session_id, **more):
        self.written.append(path)
        Path(path).write_text(content)
        return acp.WriteTextFileResponse()

    async def heard(self, said):
        """Updates are tasks of the client's own, which answers may overtake."""
        for _ in range(500):
            if self.text() == said:
                return
            await asyncio.sleep(0.01)
        raise AssertionError(self.text())

    def text(self):
        chunks = [update for update in self.updates if update.session_update == "agent_message_chunk"]
        return "".join(chunk.content.text for chunk in chunks)


async def session(root: Path, port: int):
    work, home = root / "work", root / "home"
    (work / "a.txt").write_text("one\n")
    home.mkdir()
    (home / "config.toml").write_text(
        'model_provider = "mock"\nmodel = "m"\nmode = "workspace-write"\n[model_providers.mock]\n'
        f'base_url = "http://127.0.0.1:{port}/v1"\nwire_api = "chat"\n'
    )
    env = {**os.environ, "INTERPRETER_HOME": str(home)}
    editor = Editor()
    files = FileSystemCapabilities(read_text_file=True, write_text_file=True)
    async with spawn_agent_process(editor, os.environ["INTERPRETER_BIN"], "acp", env=env, cwd=work) as (agent, _):
        said = await agent.initialize(
            protocol_version=PROTOCOL_VERSION, client_capabilities=ClientCapabilities(fs=files)
        )
        assert said.protocol_version == 1 and said.auth_methods, said
        made = await agent.new_session(cwd=str(work), mcp_servers=[])
        end = await agent.prompt(prompt=[text_block("go")], session_id=made.session_id)
        assert end.stop_reason == "end_turn", end
        assert (work / "a.txt").read_text() == "1\n" and editor.written, editor.written
        await editor.heard("I edit. done")
        assert any(update.session_update == "tool_call" for update in editor.updates)
    again = Editor()
    async with spawn_agent_process(again, os.environ["INTERPRETER_BIN"], "acp", env=env, cwd=work) as (agent, _):
        await agent.initialize(protocol_version=PROTOCOL_VERSION)
        await agent.load_session(cwd=str(work), session_id=made.session_id, mcp_servers=[])
        await again.heard("I edit. done")


def main():
    script = {
        "turns": [
            {"say": "I edit. ", "calls": [{"tool": "edit", "args": {"path": "a.txt", "old": "one", "new": "1"}}]},
            {"say": "done"},
        ],
        "strict": ["pairing"],
    }
    with tempfile.TemporaryDirectory() as root:
        root = Path(root)
        (root / "work").mkdir()
        (root / "script.json").write_text(json.dumps(script))
        model = subprocess.Popen(
            [os.environ["MODEL_SERVER_BIN"], str(root / "script.json"), str(root / "work")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        try:
            port = json.loads(model.stdout.readline())["port"]
            asyncio.run(asyncio.wait_for(session(root, port), 60))
        finally:
            model.stdin.close()
            model.wait(10)


if __name__ == "__main__":
    try:
        main()
    except BaseException as error:
        print(f"not ok: {error!r}")
        print("0 passed, 1 failed")
        sys.exit(1)
    print("1 passed, 0 failed")
