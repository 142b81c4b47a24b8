import type {Machine} from '../lib/types';

/** The files that the guest of a machine was given at its last start, to be read only. */
export default function Given(_: {machine: Machine}) {
  return <section class="preview" />;
}
