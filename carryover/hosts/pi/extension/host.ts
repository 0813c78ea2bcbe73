// What carryover uses of pi, as one set of types for @mariozechner/pi-coding-agent 0.73 and
// @earendil-works/pi-coding-agent 1.6. Optional members exist in the newer one only.

export type Mode = "tui" | "rpc" | "print" | "json"
export type Level = "info" | "warning" | "error"

export interface Model {
  provider: string
  id: string
}

/** The part of an assistant message that a completion is judged by. */
export interface Completion {
  content: { type: string; text?: string }[]
  stopReason?: string
  errorMessage?: string
}

export interface CompletionContext {
  systemPrompt: string
  messages: { role: "user"; content: { type: "text"; text: string }[]; timestamp: number }[]
}

export interface CompletionOptions {
  signal: AbortSignal
  maxTokens: number
  cacheRetention: "none"
  apiKey?: string
  headers?: Record<string, string>
}

export type Complete = (model: Model, context: CompletionContext, options: CompletionOptions) => Promise<Completion>

export interface ModelRegistry {
  complete?: Complete
  find(provider: string, id: string): Model | undefined
  getApiKeyAndHeaders(
    model: Model,
  ): Promise<{ ok: true; apiKey?: string; headers?: Record<string, string> } | { ok: false; error: string }>
}

export interface Entry {
  type: string
  message?: { role?: string }
}

export interface Context {
  mode?: Mode
  hasUI: boolean
  cwd: string
  model: Model | undefined
  modelRegistry: ModelRegistry
  ui: {
    notify(text: string, level?: Level): void
    setStatus(key: string, text: string | undefined): void
    onTerminalInput(handler: (data: string) => { consume?: boolean } | undefined): () => void
  }
  sessionManager: {
    getSessionId(): string
    getSessionFile(): string | undefined
    getLeafId(): string | null
    getEntries(): Entry[]
  }
  getSystemPrompt(): string
  isProjectTrusted?(): boolean
}

/** A message of the conversation; only what we look at or make. */
export interface Message {
  role: string
  customType?: string
  content?: unknown
  display?: boolean
  timestamp?: number
}

export interface Events {
  session_start: { reason: string }
  session_shutdown: { reason: string }
  session_before_compact: unknown
  session_compact: unknown
  before_agent_start: { systemPrompt: string; prompt?: string }
  context: { messages: Message[] }
  agent_end: unknown
  agent_settled: unknown
}

export interface Completable {
  value: string
  label: string
  description?: string
}

export interface Api {
  on<E extends keyof Events>(event: E, handler: (event: Events[E], ctx: Context) => unknown): void
  registerTool(tool: {
    name: string
    label: string
    description: string
    promptSnippet: string
    promptGuidelines: string[]
    parameters: object
    execute(
      id: string,
      params: { content: string },
    ): Promise<{ content: { type: "text"; text: string }[]; details: object }>
  }): void
  registerCommand(
    name: string,
    command: {
      description: string
      getArgumentCompletions(prefix: string): Promise<Completable[] | null>
      handler(args: string, ctx: Context): Promise<void>
    },
  ): void
}
