// The objects of /api/v1, as openapi.json describes them.

export interface Machine {
  id: string;
  namespace: string;
  name: string;
  status: Status;
  reason?: string;
  template?: string;
  disks?: string[];
  /** How the guest gets its seed, where that is not auto. */
  delivery?: string;
  created: string;
  /** Counts the changes of its definition and settings. */
  revision: string;
  started?: string;
  ended?: string;
  initialized: boolean;
  /** This run sets the guest up, whatever initialized says of before. */
  firstBootRunning?: boolean;
  firstBoot?: FirstBoot;
  /** The guest's IP addresses, from its last report. */
  addresses?: string[];
  /** How far a boot that goes on is. */
  progress?: Progress;
  postedPassword?: string;
  sshPort?: number;
  /** The user to log in as, from what the last run was given, or from the template. */
  login?: string;
  runOnce?: boolean;
  generation?: number;
  jobs?: string[];
}

export type Status = 'image_locked' | 'down' | 'wait_for_launch' | 'powering_up' | 'up' | 'paused' | 'powering_down' | 'reboot_in_progress' | 'not_responding';

/** The last thing that a guest said while it boots. */
export interface Progress {
  stage: string;
  module?: string;
  time: string;
}

export interface GuestReport {
  machine: string;
  source?: string;
  stage: string;
  module?: string;
  error?: string;
  time: string;
  boot?: string;
  /** The parts of stages that have ended since the report before. */
  modules?: BootModule[];
  /** For how many seconds the guest's kernel had run. */
  uptime?: number;
  result?: ReportResult;
}

/** A part of a stage of cloud-init that has ended. */
export interface BootModule {
  stage: string;
  module: string;
  /** In seconds since the start of the guest's kernel. */
  start: number;
  seconds: number;
  outcome: 'SUCCESS' | 'WARN' | 'FAIL';
}

export interface ReportResult {
  instance?: string;
  firstBoot: boolean;
  dataSource?: string;
  agent?: string;
  hostname?: string;
  errors?: string[];
  warnings?: string[];
  deprecations?: string[];
  hostKeys?: string[];
  addresses?: string[];
  mounts?: {device: string; path: string; type: string}[];
  seconds?: Record<string, number>;
}

export interface FirstBoot extends GuestReport {
  ok: boolean;
  reasons?: string[];
}

export interface Doc {
  name?: string;
  role?: string;
  text: string;
}

export interface Settings {
  pick?: string;
  namespace?: string;
  name?: string;
  template?: string;
  image?: string;
  dataSource?: string;
  ignitionPlatform?: string;
  guest?: string;
  memory?: number;
  cpus?: number;
  /** How the guest gets its seed: one of Version.deliveries. */
  delivery?: string;
}

/** A place in a text, counted from 1; columns count characters. 0 is an unknown place. */
export interface Position { line: number; column: number }

/** A stretch of a document; the end is behind its last character. */
export interface Range { file?: string; start?: Position; end?: Position }

export interface Diagnostic {
  code: string;
  severity: 'note' | 'warning' | 'error';
  range?: Range;
  field?: string;
  summary: string;
  remedy?: string;
  related?: {range: Range; message: string}[];
}

export interface SeedFile {
  path: string;
  mode?: string;
  size: number;
  masked?: boolean;
  truncated?: boolean;
  text?: string;
  base64?: string;
  contentType?: string;
  sealable?: boolean;
}

export interface Seed {
  namespace: string;
  name: string;
  dataSource: string;
  instanceId?: string;
  uuid?: string;
  hostname?: string;
  volumes?: {name?: string; label?: string; format?: string; image?: string; files: SeedFile[]}[];
  trees?: {name: string; roots?: string[]; tokens?: string; hopLimit?: number; files: SeedFile[]}[];
  firmware?: SeedFile[];
  credentials?: SeedFile[];
  smbios?: string[];
  kernelArgs?: string[];
  seal?: boolean;
}

export interface RenderRequest extends Settings {
  documents?: Doc[];
  dataSources?: string[];
  generation?: number;
  /** Adds what a run of the daemon does: what makes the guest report. */
  run?: boolean;
  reveal?: boolean;
}

/** firstBoot, of a machine that there is: whether a start with initialize would run first boot. maskedOnly: the secrets that were asked for are not kept. */
export interface RenderResult { seeds: Seed[]; diagnostics: Diagnostic[]; firstBoot?: boolean; maskedOnly?: boolean }

/** What the current or last run was started with. own: it was given for that run alone. maskedOnly: the run is over, and its secrets are not kept. */
export interface RunResult { documents: Doc[]; own?: boolean; maskedOnly?: boolean }

export interface Template {
  id: string;
  name: string;
  description?: string;
  status: 'locked' | 'ok' | 'illegal';
  reason?: string;
  disk?: string;
  guest?: string;
  login?: string;
  created?: string;
}

export interface Disk {
  id: string;
  name: string;
  domain: string;
  status: 'locked' | 'ok' | 'illegal';
  reason?: string;
  format: string;
  size: number;
  used: number;
  machine?: string;
  template?: string;
  created?: string;
}

export interface StorageDomain { id: string; name: string; type: 'image' | 'data' }

export interface Image {
  id: string;
  name: string;
  description?: string;
  domain: string;
  file: string;
  /** The path on the daemon's host, for documents that name the file. Without one it can be imported only. */
  path?: string;
  format: string;
  size: number;
  virtualSize?: number;
  problems?: Diagnostic[];
}

export interface Job {
  id: string;
  description: string;
  status: 'started' | 'finished' | 'failed';
  error?: string;
  object?: string;
  started: string;
  ended?: string;
}

export interface DaemonEvent {
  id: number;
  time: string;
  kind: string;
  severity: 'normal' | 'warning' | 'error';
  object?: string;
  name?: string;
  text: string;
  status?: Status;
  report?: GuestReport;
  code?: string;
  place?: string;
  actor?: string;
  correlation?: string;
}

export interface Version { version: string; api: string; forms: string[]; targets: string[]; dataSources: string[]; deliveries: string[] }
