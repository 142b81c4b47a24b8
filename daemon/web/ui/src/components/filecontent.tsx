import {bytesOf, hexDump} from '../lib/bytes';
import {indented} from '../lib/decoded';
import {copy, download} from '../lib/files';
import {bytes} from '../lib/format';
import {languageOf} from '../lib/language';
import type {Entry} from '../lib/seedtree';
import {fill} from '../lib/texts';
import texts from '../texts/preview.json';
import {Button} from './button';
import Editor from './editor';

/** shownText is what an editor shows of a file: its text, or its bytes in numbers. */
function shownText(e: Entry['file'] | undefined): string {
  if (!e) return '';
  return e.text ?? (e.base64 ? hexDump(bytesOf(e.base64)) : '');
}

/** What is shown of a file, and how. */
export interface FileContentProps {
  entry: Entry;
  /** Shows how it differs from what the guest was given before. */
  compare: boolean;
  /** JSON on one line is set apart. */
  format: boolean;
  onFormat: (format: boolean) => void;
}

/** One file that a guest reads: its name, size and mode, its content, and how that differs from what the guest was given before. */
export function FileContent({entry, compare, format, onFormat}: FileContentProps) {
  const {file} = entry;
  const set = (t: string) => (format ? indented(t) : t);
  const text = entry.change === 'removed' ? '' : set(shownText(file));
  const original = compare && entry.change ? (entry.change === 'added' ? '' : set(shownText(entry.before))) : undefined;
  const dense = /^\s*[[{].{40,}/.test(file.text ?? '') && indented(file.text ?? '') !== file.text;
  const facts = [file.base64 !== undefined ? fill(texts.binary, {size: bytes(file.size)}) : bytes(file.size), file.mode && fill(texts.mode, {mode: file.mode}), file.contentType].filter(Boolean);
  return (
    <div class="file">
      <div class="file__head">
        <div class="file__name"><code>{file.path}</code>
          {entry.change && <span class={`tag ${{added: 'tag--ok', removed: 'tag--bad', changed: 'tag--busy'}[entry.change]}`}>{texts.change[entry.change]}</span>}
          {file.masked && <span class="tag">{texts.masked}</span>}
          {file.sealable && <span class="tag">{texts.sealable}</span>}
          <span class="muted small">{facts.join(' · ')}</span>
        </div>
        <div class="file__actions">
          {dense && <Button kind="ghost" small aria-pressed={format} title={texts.formatHelp} onClick={() => onFormat(!format)}>{texts.format}</Button>}
          <Button kind="ghost" small icon="copy" label={texts.copy} onClick={() => void copy(file.text ?? text)} />
          <Button kind="ghost" small icon="download" label={texts.download} title={file.masked ? texts.downloadMasked : texts.download}
            onClick={() => download(file.path, file.base64 === undefined ? file.text ?? '' : new Uint8Array(bytesOf(file.base64)))} />
        </div>
      </div>
      {file.truncated && <p class="file__note muted small">{fill(texts.tooFar, {size: bytes(file.size)})}</p>}
      <div class="file__content">
        <Editor fill value={text} original={original} label={fill(texts.content, {path: file.path})} language={file.base64 === undefined ? languageOf(text || original || '', file.path) : 'text'} />
      </div>
    </div>
  );
}
