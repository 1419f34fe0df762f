import * as vscode from "vscode";
import { LanguageClient, TransportKind } from "vscode-languageclient/node";
import { DOCUMENTS, startOf } from "./server";

let client: LanguageClient | undefined;

async function start(): Promise<void> {
    const { command, args } = startOf(vscode.workspace.getConfiguration("regularize").get("command"));
    const executable = { command, args, transport: TransportKind.stdio };
    client = new LanguageClient("regularize", "regularize", executable, { documentSelector: DOCUMENTS });
    try {
        await client.start();
    } catch {
        client = undefined;
        const words = `regularize: ${[command, ...args].join(" ")} does not start; ` +
            "pip install 'pin-regularize[lsp]', or name it in the setting regularize.command";
        void vscode.window.showErrorMessage(words);
    }
}

export async function activate(context: vscode.ExtensionContext): Promise<void> {
    context.subscriptions.push(
        vscode.commands.registerCommand("regularize.restart", async () => {
            await client?.stop();
            await start();
        }),
    );
    await start();
}

export async function deactivate(): Promise<void> {
    await client?.stop();
}
