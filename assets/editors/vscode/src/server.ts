// How the language server is started, and for what: apart from the editor, so that it can be tried without one.

/** Documents that the server is asked about; it leaves XML of other kinds alone. */
export const DOCUMENTS = [
    { scheme: "file", language: "xml" },
    { scheme: "untitled", language: "xml" },
    { scheme: "file", pattern: "**/*.{urdf,xacro,sdf,world,mjcf,usda}" },
];

export interface Start {
    command: string;
    args: string[];
}

/** The command of the settings; the installed program where they name none. */
export function startOf(configured: unknown): Start {
    const words = Array.isArray(configured) ? configured.filter((w): w is string => typeof w === "string" && w !== "") : [];
    const [command, ...args] = words.length > 0 ? words : ["regularize", "lsp"];
    return { command, args };
}
