/** Rankcast's client: a leaderboard that moves by itself, in browsers and in Node 20 and later. */

/** One row of a view. Frozen; a row that did not change since the last view is the same object. */
export interface Row {
  /** 1 is the best; every player has a rank of their own. */
  readonly rank: number;
  /** The player's id: text, since ids have up to 64 bits. */
  readonly player: string;
  /** The player's name, null where the server knows none. Show it as text, never as HTML. */
  readonly name: string | null;
  readonly points: number;
  /** When the points were reached, in Unix milliseconds; may be negative (before 1970). */
  readonly achievedAt: number;
}

/** A player who kept a place in the view, but not the same one. */
export interface Move {
  readonly player: string;
  /** Places gained; negative when places were lost. Never 0. */
  readonly places: number;
}

/** What changed since the view that was handed over before. */
export interface Changes {
  /** Whether this is the listener's first view: then nothing is listed as changed. */
  readonly first: boolean;
  /** Rows of players who were not in the last view. */
  readonly entered: readonly Row[];
  /** Rows, as they were last, of players who are not in the view any more. */
  readonly left: readonly Row[];
  readonly moved: readonly Move[];
}

/** The server's word that a board may lag behind. */
export interface Stale {
  readonly reason: string;
  /** Unix milliseconds. */
  readonly since: number;
}

/** What every view has. Frozen in depth: keep it for as long as you like. */
export interface View {
  /** The board's name as it was asked for, e.g. `s12`. */
  readonly board: string;
  /** Names the board's life, null while it is still being made; another one: the board was replaced. */
  readonly epoch: string | null;
  /** Counts the board's changes within an epoch. */
  readonly version: number;
  /** Players on the whole board. */
  readonly total: number;
  readonly rows: readonly Row[];
  readonly changes: Changes;
  /** Set while the server says that the board may lag. */
  readonly stale: Stale | null;
  /** What last happened to the season while this view was subscribed: `closed`, `reset`, `replaced`, `rolled`. */
  readonly season: string | null;
}

export interface TopView extends View {
  readonly view: "top";
}

export interface AroundView extends View {
  readonly view: "around";
  /** The player in the middle. */
  readonly player: string;
  /** The player's rank, null while unranked. */
  readonly rank: number | null;
  /** The player's row, null while unranked. */
  readonly own: Row | null;
}

/** A player rose by points of their own. Each is told once, whatever the connection does. */
export interface RankUp {
  /** The same for the same event in every view that tells of it. */
  readonly id: string;
  readonly board: string;
  readonly epoch: string | null;
  readonly version: number;
  readonly player: string;
  /** Known where the player is in the view, or the server told it. */
  readonly name: string | null;
  readonly points: number;
  /** Rank before, null for a new player. */
  readonly before: number | null;
  readonly after: number;
}

/** A subscription that the server refused. */
export interface Refusal {
  readonly board: string;
  readonly view: "top" | "around" | "rankups";
  /** A code word: `unknown_board`, `limit_too_big`, … */
  readonly code: string;
  /** For people. */
  readonly reason: string;
  /** Whether the client tries again by itself; otherwise it asks anew with the next connection, or when you do. */
  readonly retry: boolean;
}

/** The state of the connection, as a page shows it. */
export interface State {
  /**
   * `connecting`: nothing to show yet. `live`: what is shown is what the server has. `stale`: what is shown was
   * right at `since`; the client is working on it. `closed`: it gave up, or was closed; make a new one.
   */
  readonly name: "connecting" | "live" | "stale" | "closed";
  /** In words: `shutdown`, `silent`, `hidden`, `catching up`, `bad token`, …; empty when live. */
  readonly reason: string;
  /** Since when, in Unix milliseconds. */
  readonly since: number;
  /** The close code of the last connection, null while connected. */
  readonly code: number | null;
  /** When the next try is due, in Unix milliseconds. */
  readonly retryAt: number | null;
  readonly transport: "websocket" | "sse" | null;
}

/** Ends what it came from. Calling it again does nothing. */
export type Stop = () => void;

export interface TopOptions {
  /** Rows, 1 to 1,000 (default 100). */
  limit?: number;
  onerror?: (refusal: Refusal) => void;
}

export interface AroundOptions {
  /** Rows above and below the player, 0 to 50 (default 5). */
  radius?: number;
  /** Called with the player's own rank-ups. */
  onrankup?: (event: RankUp) => void;
  onerror?: (refusal: Refusal) => void;
}

export interface Board {
  readonly name: string;
  /** The best players. Equal views share one subscription; all share one connection. */
  top(options: TopOptions, onview: (view: TopView) => void): Stop;
  /** A player and the neighbours, wherever they are. Numbers above 2^53 - 1 are refused: pass text. */
  around(player: string | number | bigint, options: AroundOptions, onview: (view: AroundView) => void): Stop;
  /** Rises into the best 100 of the board. */
  rankups(onrankup: (event: RankUp) => void, options?: Pick<TopOptions, "onerror">): Stop;
}

export interface Client {
  /** A board by name: `s12`, `s12:d:today`, `s12:w:2026-W42`, … */
  board(name: string): Board;
  readonly state: State;
  /** Calls `listener` with the state, now and after each change. */
  onstate(listener: (state: State) => void): Stop;
  /** Calls `listener` with every refused subscription. */
  onerror(listener: (refusal: Refusal) => void): Stop;
  /** Ends the connection and all subscriptions for good. */
  close(): void;
}

/** The part of a WebSocket class that is used; the browser's, Node's and that of `ws` have it. */
export type WebSocketClass = new (
  url: string,
  protocol: string,
) => {
  readonly readyState: number;
  onopen: ((event: any) => void) | null;
  onmessage: ((event: any) => void) | null;
  onclose: ((event: any) => void) | null;
  onerror: ((event: any) => void) | null;
  send(data: string): void;
  close(code?: number): void;
};

export interface Options {
  /**
   * The viewer's token, or what gives one: called before the first connection, before the token expires (where it
   * says when, as a JSON web token does) and when the server calls it expired. Nothing given: the client closes.
   */
  token?: string | (() => string | null | Promise<string | null>);
  /** Where there is no global WebSocket (Node 20): that of the package `ws`. Without any, server-sent events are used. */
  WebSocket?: WebSocketClass;
  fetch?: typeof globalThis.fetch;
  /** `auto` (default): a WebSocket; server-sent events where one cannot be opened twice in a row. */
  transport?: "auto" | "websocket" | "sse";
}

/**
 * Connects to the Rankcast server at `url` (http, https, ws or wss; default: where the page comes from). The
 * connection is made with the first subscription and kept up until the last has ended.
 */
export function connect(url?: string | URL | null, options?: Options): Client;
