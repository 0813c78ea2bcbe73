// A second extension, as a user might have one: commands that end pi, and reload it, from within.
interface Context {
  shutdown(): void
  reload(): Promise<void>
}

export default function (pi: { registerCommand(name: string, command: object): void }): void {
  pi.registerCommand("bye", { description: "end pi", handler: async (_: string, ctx: Context) => ctx.shutdown() })
  pi.registerCommand("again", { description: "reload", handler: (_: string, ctx: Context) => ctx.reload() })
}
