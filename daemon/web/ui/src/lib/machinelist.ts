// All machines of the daemon, kept as they are: what the page was written with, then the rest of the list, then what happens.
import {get} from './api';
import {Problem} from './api';
import {follow, type Stream} from './events';
import {machinePath} from './linked';
import {applyEvents, byId, replace, type Machines} from './machines';
import type {DaemonEvent, Machine} from './types';

/** What is known. */
export interface Known {
  machines: Machines;
  /** Whether these are all. */
  complete: boolean;
  stream: Stream;
  /** Why the list could not be read. */
  error?: unknown;
}

/** How many machines are asked for at a time. */
const chunk = 1000;
/** With more stale machines than this the whole list is read again, instead of each. */
const many = 24;
/** How long changes are gathered before they are shown and stale machines are read, in milliseconds; longer for long lists. */
const pace = (size: number): number => (size > 1000 ? 250 : 60);

/** MachineList follows the machines of the daemon. */
export class MachineList {
  private known: Known;
  private stale = new Set<string>();
  /** Ids are never used again: what was removed does not come back with an older answer. */
  private removed = new Set<string>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private reading = false;
  private unread = false;

  constructor(first: Machine[], complete: boolean, private readonly since: number, private readonly changed: (known: Known) => void) {
    this.known = {machines: byId(first), complete, stream: 'open'};
    this.unread = !complete;
  }

  /** start reads and follows until the function that it returns is called. */
  start(): () => void {
    const end = follow({since: this.since, onEvents: (events) => this.take(events), onGap: () => this.reread(), onStream: (stream) => this.show({stream})});
    void this.read();
    return () => {
      end();
      clearTimeout(this.timer);
    };
  }

  /** put takes in machines as an answer has them, before events say the same. */
  put(fresh: Machine[], gone: Machine[]): void {
    for (const m of gone) this.removed.add(m.id);
    this.show({machines: replace(this.known.machines, fresh.filter((m) => !this.removed.has(m.id)), gone.map((m) => m.id))});
  }

  /** reread reads the whole list again. */
  reread(): void {
    this.unread = true;
    void this.read();
  }

  private take(events: DaemonEvent[]): void {
    for (const e of events) if (e.kind === 'machine.removed' && e.object) this.removed.add(e.object);
    const {machines, stale} = applyEvents(this.known.machines, events);
    for (const id of stale) if (!this.removed.has(id)) this.stale.add(id);
    this.known = {...this.known, machines};
    this.soon();
  }

  private show(part: Partial<Known>): void {
    this.known = {...this.known, ...part};
    this.changed(this.known);
  }

  private soon(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.changed(this.known);
      void this.read();
    }, pace(this.known.machines.size));
  }

  /** read reads what is not known or may be old, one thing after the other. */
  private async read(): Promise<void> {
    if (this.reading) return;
    this.reading = true;
    try {
      while (this.unread || this.stale.size > 0) {
        if (this.unread || this.stale.size > many) await this.readAll();
        else await this.readStale();
      }
      if (this.known.error) this.show({error: undefined});
    } catch (error) {
      if (!(error instanceof Problem && error.status === 401)) this.show({error});
    } finally {
      this.reading = false;
    }
  }

  private async readAll(): Promise<void> {
    this.stale.clear();
    const all: Machine[] = [];
    for (let after = ''; ;) {
      const page = await get<{machines: Machine[]; next?: string}>(`/machines?limit=${chunk}${after && '&after=' + after}`);
      all.push(...page.machines);
      if (!page.next) break;
      after = page.next;
    }
    this.unread = false;
    this.show({machines: byId(all.filter((m) => !this.removed.has(m.id))), complete: true});
  }

  private async readStale(): Promise<void> {
    const ids = [...this.stale];
    this.stale.clear();
    const gone: string[] = [];
    const fresh: Machine[] = [];
    await Promise.all(ids.map(async (id) => {
      try {
        fresh.push(await get<Machine>(machinePath(id)));
      } catch (error) {
        if (!(error instanceof Problem && error.status === 404)) throw error;
        gone.push(id);
      }
    }));
    this.show({machines: replace(this.known.machines, fresh.filter((m) => !this.removed.has(m.id)), gone)});
  }
}
