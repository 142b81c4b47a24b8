import {bytesOf, hexDump} from '../lib/bytes';
import {copy, download} from '../lib/files';
import {bytes} from '../lib/format';
import {languageOf} from '../lib/language';
import type {Entry} from '../lib/seedtree';
import {toast} from '../lib/shout';
import {fill} from '../lib/texts';
import texts from '../texts/preview.json';
import {Button} from './button';
import Editor from './editor';

/** shownText is what an editor shows of a file: its text, or its bytes in numbers. */
function shownText(e: Entry['file'] | undefined): string {
  if (!e) return '';
  return e.text ?? (e.base64 ? hexDump(bytesOf(e.base64)) : '');
}

/** One file that a guest reads: its name, size and mode, its content, and how that differs from what the guest was given before. */
export function FileContent({entry, compare}: {entry: Entry; compare: boolean}) {
  const {file} = entry;
  const gone = entry.change === 'removed';
  const text = gone ? '' : shownText(file);
  const original = compare && entry.change ? (entry.change === 'added' ? '' : shownText(entry.before)) : undefined;
  const facts = [file.base64 !== undefined ? fill(texts.binary, {size: bytes(file.size)}) : bytes(file.size), file.mode && fill(texts.mode, {mode: file.mode}), file.contentType].filter(Boolean);
  const copied = async () => toast(await copy(text) ? {kind: 'ok', title: texts.copied} : {kind: 'warn', title: texts.notCopied});
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
          <Button kind="ghost" small icon="copy" label={texts.copy} onClick={copied} />
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
