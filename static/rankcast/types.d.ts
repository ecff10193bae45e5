// The shapes that the modules share: frames of protocol version 1, and what a line and a platform are.
// For the type checker alone; the public names are in ../rankcast.d.ts.

import type { RankUp, Refusal } from "../rankcast.js";

export interface Position {
  /** Null while the board is still being made. */
  readonly epoch: string | null;
  readonly version: number;
}

export type Names = { readonly [player: string]: string };
export type RowTuple = readonly [player: string, points: number, achievedAt: number];
export type PlacedTuple = readonly [player: string, points: number, achievedAt: number, rank: number];

// -- server frames

export interface Welcome {
  type: "welcome";
  protocol: string;
  heartbeat_ms?: number;
  limits?: { readonly [name: string]: number };
}

export interface Ok {
  type: "ok";
  id: number;
  topic?: string;
  resumed?: boolean;
}

export interface ErrorFrame {
  type: "error";
  id?: number;
  code: string;
  reason: string;
  retry: boolean;
}

export interface Snapshot extends Position {
  type: "snapshot";
  topic: string;
  total: number;
  rows: readonly RowTuple[];
  names?: Names;
  crc: number;
}

export interface Diff {
  type: "diff";
  topic: string;
  epoch: string | null;
  from: number;
  to: number;
  total: number;
  gone: readonly string[];
  set: readonly PlacedTuple[];
  names?: Names;
  crc: number;
}

export interface Around extends Position {
  type: "around";
  topic: string;
  total: number;
  /** Of the first row; null while the player is unranked. */
  rank: number | null;
  /** Absent when only rank or total changed. */
  rows?: readonly RowTuple[];
  names?: Names;
}

export interface RankUpFrame extends Position {
  type: "rankup";
  topic: string;
  player: string;
  points: number;
  before: number | null;
  after: number;
}

export interface Heartbeat {
  type: "heartbeat";
  at: number;
  heads?: { [topic: string]: [epoch: string | null, version: number] };
  /** Set by us for server-sent events: the topics that it does not name are other streams'. */
  partial?: boolean;
}

export interface StaleMark {
  type: "stale" | "fresh";
  board: string;
  reason?: string;
  since?: number;
}

export interface SeasonMark {
  type: "season";
  topic: string;
  board: string;
  reason: string;
}

export interface Bye {
  type: "bye";
  code?: number;
  retry_after_ms?: number;
  jitter_ms?: number;
}

export type PictureFrame = Snapshot | Diff | Around;
export type Frame =
  Welcome | Ok | ErrorFrame | PictureFrame | RankUpFrame | Heartbeat | StaleMark | SeasonMark | Bye;

// -- client commands; the link adds the id

export interface Spec {
  readonly board: string;
  readonly view: "top" | "around" | "rankups";
  readonly limit?: number;
  readonly player?: string;
  readonly radius?: number;
}

export interface SubscribeCommand extends Spec {
  op: "subscribe";
  have?: Position;
}

export type Command =
  SubscribeCommand | { op: "unsubscribe"; topic: string } | { op: "auth"; token: string } | { op: "ping" };

// -- parts

/** What one subscription shows. */
export interface Picture {
  /** Where it stands; null when it shows nothing that can be gone on from. */
  position: Position | null;
  /** Takes a frame. Returns null, or why only a snapshot helps; then the position is gone. */
  take(frame: PictureFrame): string | null;
  /** The name that came with a player who is in it. */
  nameOf(player: string): string | null;
  /** What a view of the present state holds; null when there is none. */
  show(): Shown | null;
}

export interface Shown extends Position {
  readonly total: number;
  readonly rows: readonly import("../rankcast.js").Row[];
}

export interface Listener {
  readonly onview?: (view: any) => void;
  readonly onrankup?: (event: RankUp) => void;
  readonly onerror?: (refusal: Refusal) => void;
  /** Whether it has got no view yet. */
  fresh: boolean;
}

/** One connection, whatever it is made of. */
export interface Line {
  readonly kind: "websocket" | "sse";
  /** When the server was last heard, in Unix milliseconds. */
  readonly heardAt: number;
  send(command: Command & { id: number }): void;
  /** Ends the line; nothing is called any more. */
  close(): void;
}

export interface LineHandlers {
  open(): void;
  frame(frame: Frame): void;
  /** Something came that is no frame. */
  bad(): void;
  /** The line has ended; called once, and last. */
  close(code: number, reason: string): void;
}

/** Who is told of what happens to the line that is kept up. */
export interface LinkHandlers {
  up(welcome: Welcome): void;
  /** After a line that was up. */
  down(): void;
  frame(frame: Frame): void;
  /** Something came that is no frame. */
  bad(): void;
  /** The phase changed, or whether the line is in doubt. */
  change(): void;
}

export type Timer = unknown;

export interface Platform {
  /** Unix milliseconds. */
  now(): number;
  /** From 0 to 1. */
  random(): number;
  later(run: () => void, ms: number): Timer;
  cancel(timer: Timer): void;
  /** Calls `run` at the next frame of the screen; never while the page is hidden. */
  frame(run: () => void): void;
  hidden(): boolean;
  /** Calls `run` with the event's name when timers may have slept. Returns what ends that. */
  onwake(run: (cause: string) => void): () => void;
  /** Takes an error of the caller's code. */
  report(error: unknown): void;
}

export interface LinkOptions {
  base: { http: string; ws: string };
  token?: string | (() => string | null | Promise<string | null>);
  WebSocket?: import("../rankcast.js").WebSocketClass;
  fetch: typeof globalThis.fetch;
  transport: "auto" | "websocket" | "sse";
}
