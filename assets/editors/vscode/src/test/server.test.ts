// The protocol library of the extension against the real server, without an editor:
//   REGULARIZE="python -m regularize lsp" npm test
import * as assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import * as path from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import {
    CodeActionRequest, CodeLensRequest, createProtocolConnection, DidOpenTextDocumentNotification, ExitNotification,
    HoverRequest, InitializeRequest, InitializedNotification, PublishDiagnosticsNotification, PublishDiagnosticsParams,
    ShutdownRequest, StreamMessageReader, StreamMessageWriter,
} from "vscode-languageserver-protocol/node";
import { startOf } from "../server";

test("the command comes from the settings, and is the installed program else", () => {
    assert.deepEqual(startOf(undefined), { command: "regularize", args: ["lsp"] });
    assert.deepEqual(startOf(["python", "-m", "regularize", "lsp"]).args, ["-m", "regularize", "lsp"]);
    assert.deepEqual(startOf([1, ""]).command, "regularize");
});

test("a four-bar is looked at, and its repair offered", async () => {
    const { command, args } = startOf(process.env.REGULARIZE?.split(" "));
    const child = spawn(command, args);
    const connection = createProtocolConnection(new StreamMessageReader(child.stdout), new StreamMessageWriter(child.stdin));
    const published = new Promise<PublishDiagnosticsParams>((resolve) =>
        connection.onNotification(PublishDiagnosticsNotification.type, resolve));
    connection.listen();
    const ready = await connection.sendRequest(InitializeRequest.type, { processId: process.pid, rootUri: null, capabilities: {} });
    assert.ok(ready.capabilities.hoverProvider && ready.capabilities.codeActionProvider && ready.capabilities.codeLensProvider);
    await connection.sendNotification(InitializedNotification.type, {});
    const file = path.resolve(process.env.MODEL ?? "../../planar_fourbar.urdf");
    const uri = pathToFileURL(file).href;
    const textDocument = { uri, languageId: "xml", version: 3, text: readFileSync(file, "utf8") };
    await connection.sendNotification(DidOpenTextDocumentNotification.type, { textDocument });
    const found = await published;
    assert.equal(found.version, 3);
    const finding = found.diagnostics.find((each) => each.code === "REG201");
    assert.ok(finding);
    const lenses = await connection.sendRequest(CodeLensRequest.type, { textDocument: { uri } });
    assert.equal(lenses?.[0].command?.title, "mobility 1, 3 redundant");
    const hover = await connection.sendRequest(HoverRequest.type, { textDocument: { uri }, position: finding.range.start });
    assert.match(JSON.stringify(hover?.contents), /\| 5 \| 2 \| 3 \|/);
    const asked = { textDocument: { uri }, range: finding.range, context: { diagnostics: [finding] } };
    const actions = await connection.sendRequest(CodeActionRequest.type, asked);
    assert.equal(actions?.length, 1);
    await connection.sendRequest(ShutdownRequest.type);
    await connection.sendNotification(ExitNotification.type);
    connection.dispose();
    child.kill();
});
