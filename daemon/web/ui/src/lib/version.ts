import {get} from './api';
import type {Version} from './types';

let asked: Promise<Version> | undefined;

/** version is what the daemon reads and writes; it is asked once for each page, and again when that failed. */
export function version(): Promise<Version> {
  asked ??= get<Version>('/version').catch((e: unknown) => {
    asked = undefined;
    throw e;
  });
  return asked;
}
