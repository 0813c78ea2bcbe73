// carryover in pi: what happens in pi, told to the Python process, and what that answers, told to pi.
//
// Serves @mariozechner/pi-coding-agent 0.73 and @earendil-works/pi-coding-agent 1.6, hence no imports from either.
// pi awaits handlers without a limit and ends on errors nobody catches: every wait below has a deadline, every handler
// answers something. Nothing is kept in module variables: one version evaluates this file for every session, the
// other does not.
import { answer, SKIPPED, whenAborted } from "./ask.ts"
import { Child, type Ask, type Failure, type Notice, type Reply } from "./child.ts"
import * as fallback from "./fallback.ts"
import type { Api, Completable, Context, Events, Level, Message, Mode } from "./host.ts"

/** Milliseconds an answer is waited for. Only the first four are ever in a user's way. */
const DEADLINE = {
  prompt: 300,
  firstPrompt: 1_500, // Python may still be starting
  complete: 300,
  compaction: 1_500,
  save: 15_000,
  command: 15_000,
  end: 4_000,
  later: 30_000,
}
const RESTARTS = 2 // of a child that died in the middle of a session

const COMMANDS: [name: string, english: string, chinese: string][] = [
  ["show", "what the next session will know", "下次会话会知道什么"],
  ["save", "sum up this session now", "立即整理本次会话"],
  ["clear", "clear the note", "清空笔记"],
  ["restore", "go back to an earlier note", "恢复较早的笔记"],
]

export default function carryover(pi: Api): void {
  if (process.env.CARRYOVER_NESTED === "1") return // the pi of somebody's summary
  const session = new Session(pi)
  pi.on("session_start", (event, ctx) => session.start(event.reason, ctx))
  pi.on("before_agent_start", (event, ctx) => session.prompt(event, ctx))
  pi.on("context", (event, ctx) => session.context(event, ctx))
  pi.on("agent_end", (_, ctx) => session.settled(ctx))
  pi.on("agent_settled", (_, ctx) => session.settled(ctx))
  pi.on("session_before_compact", () => session.compacting())
  pi.on("session_compact", () => session.compacted())
  pi.on("session_shutdown", (event, ctx) => session.end(event.reason, ctx))
  pi.registerCommand("carryover", {
    description: "Show, save, clear or restore what the next session will know",
    getArgumentCompletions: (prefix) => session.complete(prefix),
    handler: (args, ctx) => session.command(args, ctx),
  })
}

/** One session as one instance of the extension sees it: from its start to its shutdown, and deaf afterwards. */
class Session {
  private readonly pi: Api
  private readonly skip = new AbortController() // ends a summary that runs in the background
  private child: Child | undefined
  private ctx: Context | undefined
  private about: ReturnType<typeof describe> | undefined
  private restarts = 0
  private lastWords = ""
  private lastLeaf: string | null = null
  /** What the system prompt carries, byte for byte, until the next boundary. */
  private block: string | undefined
  /** Stands in for it while there is no answer. */
  private spare: string | undefined
  /** News that came too late for the prompt it was for. */
  private missed: string | undefined

  constructor(pi: Api) {
    this.pi = pi
  }

  start(reason: string, ctx: Context): void {
    const id = ctx.sessionManager.getSessionId()
    if (this.skip.signal.aborted || this.about?.session.id === id) return // pi before 1.6 says it twice
    this.ctx = ctx
    this.about = describe(reason, ctx)
    markProcess(this.about.mode)
    watchSignals()
    if (reason === "reload") shared().told.clear()
    if (!this.about.nested) this.registerTool()
    this.open(Child.obtain())
  }

  async prompt(event: Events["before_agent_start"], ctx: Context) {
    if (!this.child || this.over) return undefined
    this.lastWords = event.prompt ?? ""
    const deadline = this.child.talking ? DEADLINE.prompt : DEADLINE.firstPrompt
    const news = this.missed
    this.missed = undefined
    const late = ({ message }: Reply) => void (this.missed = message ?? undefined)
    const reply = await this.request("prompt", { text: this.lastWords }, deadline, late)
    if (reply.ok) this.block ??= reply.system
    else if (this.block === undefined) this.spare ??= this.standIn(ctx)
    const block = this.block ?? this.spare
    const message = reply.message ?? news
    return {
      ...(block && { systemPrompt: `${event.systemPrompt}\n\n${block}` }),
      ...(message && { message: { customType: "carryover", content: message, display: false } }),
    }
  }

  /**
   * A request whose system prompt does not carry the present block gets it as a message, for this request only: pi goes
   * on after a compaction in the middle of a run with the system prompt it began with.
   */
  context(event: Events["context"], ctx: Context) {
    const block = this.block ?? this.spare
    if (!block || this.over || ctx.getSystemPrompt().includes(block)) return undefined
    const message: Message = { role: "custom", customType: "carryover", content: block, display: false, timestamp: 0 }
    const place = event.messages.findIndex(({ role }) => role === "compactionSummary") + 1
    return { messages: event.messages.toSpliced(place, 0, message) }
  }

  /** Told without waiting; the newer pi says it twice for most runs. */
  settled(ctx: Context): void {
    if (!this.child || this.over) return
    const leaf = ctx.sessionManager.getLeafId()
    if (leaf === this.lastLeaf) return
    this.lastLeaf = leaf
    void this.request("settled", { file: sessionFile(ctx) }, DEADLINE.later).then((reply) =>
      this.background(reply, ctx),
    )
  }

  async compacting(): Promise<void> {
    if (this.child && !this.over) await this.request("compacting", {}, DEADLINE.compaction)
  }

  async compacted(): Promise<void> {
    if (!this.child || this.over) return
    this.spare = undefined
    const reply = await this.request("compacted", {}, DEADLINE.compaction)
    this.block = reply.ok ? reply.system : undefined // the next prompt brings it
  }

  async command(args: string, ctx: Context): Promise<void> {
    const [name = "", ...rest] = args.trim().split(/\s+/)
    const show = name === "" || name === "show"
    const reply = await this.request("command", { name: name || "show", args: rest.join(" ") }, DEADLINE.command)
    if (!reply.ok) {
      const note = show && this.child?.failure ? this.standIn(ctx) : ""
      return answerCommand(ctx, { level: "error", text: [note, this.explain(reply)].filter(Boolean).join("\n\n") })
    }
    if (reply.text) answerCommand(ctx, { level: reply.level ?? "info", text: reply.text })
    sayAll(ctx, reply.notices)
    if (reply.ask) await this.summariseVisibly(reply.ask, ctx, (notice) => say(ctx, notice))
  }

  async complete(prefix: string): Promise<Completable[] | null> {
    const [, name, start] = /^(\S+)\s+(.*)$/.exec(prefix) ?? []
    const items = name === undefined ? commandsLike(prefix) : await this.completeArgument(name, start ?? "")
    // What is typed out already is not offered: Return would take the offer instead of sending the line.
    const open = items.filter(({ value }) => value !== prefix)
    return open.length ? open : null
  }

  /** Everything told before is answered before this is: the child works in order. */
  async end(reason: string, ctx: Context): Promise<void> {
    if (!this.child || this.over) return
    this.skip.abort()
    const { child } = this
    const stopped = reason === "quit" && this.about?.mode === "tui" // pi has taken its screen down
    const tell = (notice: Notice) => (stopped ? print(notice.text) : say(ctx, notice))
    const reply = await child.request("end", { reason }, DEADLINE.end)
    reply.notices?.forEach(tell)
    if (reply.ask && ctx.hasUI) await this.summariseVisibly(reply.ask, ctx, tell)
    else if (reply.farewell) tell({ level: "info", text: reply.farewell })
    if (reason === "quit") child.close()
  }

  private get over(): boolean {
    return this.skip.signal.aborted
  }

  private open(child: Child): void {
    this.child = child
    child.heard = ({ event, level, text }) => {
      if (event === "notice" && text && this.ctx) say(this.ctx, { level: level ?? "info", text })
      if (event === "status") this.status(text)
    }
    child.failed = (failure) => this.failed(failure)
    void child.request("start", this.about ?? {}, DEADLINE.later).then((reply) => {
      if (this.over || !reply.ok || !this.ctx) return
      this.status(reply.status)
      this.background(reply, this.ctx)
    })
  }

  private async request(verb: string, fields: object, deadline: number, late?: (reply: Reply) => void): Promise<Reply> {
    if (this.canRestart) {
      this.restarts += 1
      this.open(Child.obtain())
    }
    if (!this.child) return { ok: false, error: "no session has started" }
    const reply = await this.child.request(verb, fields, deadline, late)
    if (reply.status) this.status(reply.status)
    return reply
  }

  /** A child that died in the middle is started again and told of this session; one that never spoke is not. */
  private get canRestart(): boolean {
    return this.child?.failure !== undefined && this.child.talking && this.restarts < RESTARTS && !this.over
  }

  private failed(failure: Failure): void {
    if (this.over || !this.ctx || this.canRestart) return
    this.status(fallback.status())
    if (shared().told.has(failure)) return
    shared().told.add(failure)
    say(this.ctx, { level: "warning", text: fallback.notice(failure, this.lastWords) })
  }

  private async completeArgument(name: string, prefix: string): Promise<Completable[]> {
    const reply = await this.request("complete", { name, prefix }, DEADLINE.complete)
    return (reply.items ?? []).map((item) => ({ ...item, value: `${name} ${item.value}` }))
  }

  private standIn(ctx: Context): string {
    if (trusted(ctx) === false) return ""
    return fallback.block(ctx.cwd, this.child?.failure ?? "slow")
  }

  private explain(reply: Reply): string {
    const failure = this.child?.failure
    return failure ? fallback.refusal(failure) : (reply.error ?? "carryover failed without a reason.")
  }

  private registerTool(): void {
    this.pi.registerTool({
      name: "save_carryover",
      label: "Save carryover",
      description:
        "Replace this project's carryover note, which the next session starts from: unfinished work and next steps, " +
        "decisions with their reasons, what was tried and failed. Leave finished work out.",
      promptSnippet: "Save unfinished work, decisions and next steps for the next session",
      promptGuidelines: [
        "Call save_carryover with the complete new note at milestones, when next steps change, and before work ends.",
      ],
      parameters: {
        type: "object",
        properties: { content: { type: "string", description: "The complete new note, in Markdown" } },
        required: ["content"],
      },
      execute: async (_id, { content }) => {
        const reply = await this.request("save", { content }, DEADLINE.save)
        if (!reply.ok) throw new Error(this.explain(reply)) // so that pi marks the result as an error
        return { content: [{ type: "text", text: reply.text ?? "" }], details: {} }
      },
    })
  }

  private background(reply: Reply, ctx: Context): void {
    if (this.over) return
    sayAll(ctx, reply.notices)
    if (!reply.ask || !ctx.hasUI) return
    void this.summarise(reply.ask, ctx, this.skip.signal).then((notices) => {
      if (!this.over) sayAll(ctx, notices)
    })
  }

  /** The user waits for it, and can stop it. */
  private async summariseVisibly(ask: Ask, ctx: Context, tell: (notice: Notice) => void): Promise<void> {
    const skip = new AbortController()
    const release = onSkip(ctx, () => skip.abort())
    tell({ level: "info", text: ask.line })
    try {
      const notices = await this.summarise(ask, ctx, AbortSignal.any([skip.signal, shared().ended.signal]))
      notices.forEach(tell)
    } finally {
      release()
    }
  }

  /** Get the summary that the child asks for and hand it in, or that there is none. */
  private async summarise(ask: Ask, ctx: Context, skip: AbortSignal): Promise<Notice[]> {
    const { child } = this
    if (!child) return []
    let given = SKIPPED
    if (ask.runner === "host") given = await answer(ask, ctx, skip)
    else {
      const run = child.request("run", { ask: ask.id }, ask.seconds * 1000 + DEADLINE.end)
      const reply = await Promise.race([run, whenAborted(skip)])
      if (reply) return reply.notices ?? []
    }
    const reply = await child.request("answer", { ask: ask.id, ...given }, DEADLINE.end)
    return reply.notices ?? []
  }

  private status(text: string | undefined): void {
    quietly(() => this.ctx?.ui.setStatus("carryover", text || undefined))
  }
}

/** What the child is told at the start of a session. */
function describe(reason: string, ctx: Context) {
  const mode = modeOf(ctx)
  const messages = ctx.sessionManager.getEntries().filter(({ type, message }) => {
    return type === "message" && (message?.role === "user" || message?.role === "assistant")
  })
  return {
    reason,
    mode,
    cwd: ctx.cwd,
    session: { id: ctx.sessionManager.getSessionId(), file: sessionFile(ctx), messages: messages.length },
    trusted: trusted(ctx),
    nested: isNested(mode),
    pid: process.pid,
  }
}

function modeOf(ctx: Context): Mode {
  if (ctx.mode) return ctx.mode
  const mode = process.argv[process.argv.indexOf("--mode") + 1]
  if (ctx.hasUI) return mode === "rpc" ? "rpc" : "tui"
  return mode === "json" ? "json" : "print"
}

function sessionFile(ctx: Context): string | null {
  return ctx.sessionManager.getSessionFile() ?? null
}

function trusted(ctx: Context): boolean | null {
  try {
    return ctx.isProjectTrusted?.() ?? null
  } catch {
    return null // a stale context cannot say
  }
}

/** A pi that another agent started: by the mark of pi-subagents, or below a pi of ours that still lives. */
function isNested(mode: Mode): boolean {
  if (process.env.PI_SUBAGENT_CHILD === "1") return true
  const outer = Number(process.env.CARRYOVER_PI)
  return mode !== "tui" && outer > 0 && outer !== process.pid && isAlive(outer)
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM"
  }
}

/** Mark what this pi starts; below an outer pi its mark stays. */
function markProcess(mode: Mode): void {
  if (!isNested(mode)) process.env.CARRYOVER_PI = String(process.pid)
}

interface Shared {
  /** Aborted when a signal told this pi to end: then nobody waits for a summary. */
  ended: AbortController
  watched: boolean
  /** What the user was told already. */
  told: Set<Failure>
}

/** What all sessions of this pi have in common. */
function shared(): Shared {
  const key = Symbol.for("carryover.shared")
  const place = globalThis as { [key]?: Shared }
  return (place[key] ??= { ended: new AbortController(), watched: false, told: new Set() })
}

/**
 * Listening to SIGTERM has an effect of its own: the older TUI then reaches session_shutdown. Only where pi listens
 * itself, or the signal would no longer end it.
 */
function watchSignals(): void {
  const state = shared()
  if (state.watched) return
  state.watched = true
  for (const signal of ["SIGTERM", "SIGHUP"] as const) {
    if (process.listenerCount(signal) > 0) process.on(signal, () => state.ended.abort())
  }
}

/** Esc or Ctrl+C in the TUI, Ctrl+C where there is no screen (any more). */
function onSkip(ctx: Context, skip: () => void): () => void {
  process.on("SIGINT", skip)
  let release: (() => void) | undefined
  quietly(() => {
    release = ctx.ui.onTerminalInput((data) => {
      if (!/^(\x1b|\x03|\x1b\[27(;1)?u|\x1b\[99;5u)$/.test(data)) return undefined
      skip()
      return { consume: true }
    })
  })
  return () => {
    process.off("SIGINT", skip)
    quietly(() => release?.())
  }
}

function commandsLike(prefix: string): Completable[] {
  const chinese = fallback.speaksChinese()
  const like = COMMANDS.filter(([name]) => name.startsWith(prefix))
  return like.map(([name, inEnglish, inChinese]) => {
    return { value: name, label: name, description: chinese ? inChinese : inEnglish }
  })
}

function sayAll(ctx: Context, notices: Notice[] = []): void {
  notices.forEach((notice) => say(ctx, notice))
}

function say(ctx: Context, { level, text }: { level: Level; text: string }): void {
  quietly(() => {
    if (ctx.hasUI) ctx.ui.notify(text, level)
    else if (level !== "info") process.stderr.write(`${text}\n`)
  })
}

/** Somebody asked, so there is an answer in every mode; where there is no screen it goes where the output is not. */
function answerCommand(ctx: Context, notice: Notice): void {
  if (ctx.hasUI) say(ctx, notice)
  else quietly(() => process.stderr.write(`${notice.text}\n`))
}

function print(text: string): void {
  if (process.stderr.isTTY) quietly(() => process.stderr.write(`${text}\n`))
}

/** A context may have become stale meanwhile, and the user interface may be gone: then there is nobody to tell. */
function quietly(act: () => void): void {
  try {
    act()
  } catch {}
}
