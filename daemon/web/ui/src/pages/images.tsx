import {useEffect, useRef, useState} from 'preact/hooks';
import {Button} from '../components/button';
import {ImportDialog} from '../components/importdialog';
import {Live} from '../components/live';
import {useStable} from '../components/memo';
import {Notice} from '../components/notice';
import {problemText} from '../lib/problem';
import {Disks, Images, Templates, Work} from '../components/storageparts';
import {del, get} from '../lib/api';
import {follow, type Stream} from '../lib/events';
import {ask, toast} from '../lib/shout';
import {news, touches, type Storage} from '../lib/storage';
import {fill} from '../lib/texts';
import type {Image} from '../lib/types';
import texts from '../texts/images.json';

/** What the server writes for this page. */
export interface ImagesData extends Storage {
  lastEvent: number;
}

/** The page of images, templates and disks. */
export default function Page({data}: {data: ImagesData}) {
  const {storage, stream, error, refresh, begun} = useStorage(data);
  const [importing, setImporting] = useState<Image | undefined>();
  const remove = async (what: 'templates' | 'disks', {id, name}: {id: string; name: string}) => {
    const words = what === 'templates' ? texts.removeTemplate : texts.removeDisk;
    if (!(await ask({title: fill(words.title, {name}), text: words.text, action: texts.remove, danger: true})).go) return;
    try {
      await del<void>(`/${what}/${encodeURIComponent(id)}`);
      toast({kind: 'ok', title: fill(texts.removed, {name})});
    } catch (e) {
      toast({kind: 'bad', title: fill(texts.notRemoved, {name}), text: problemText(e)});
    }
    refresh();
  };
  return (
    <div class="page page--sections">
      <div class="page__head">
        <h1>{texts.title}</h1>
        <Live stream={stream} />
        <div class="page__actions"><Button icon="reboot" onClick={refresh}>{texts.lookAgain}</Button></div>
      </div>
      {error !== undefined && <Notice kind="bad" title={texts.cannotRead} actions={<Button small onClick={refresh}>{texts.again}</Button>}>{problemText(error)}</Notice>}
      <Work jobs={storage.jobs.filter((j) => j.status === 'started')} />
      <section class="section" aria-labelledby="images">
        <div><h2 id="images">{texts.images}</h2><p class="page__lead">{texts.imagesText}</p></div>
        <Images images={storage.images} onImport={setImporting} />
      </section>
      <section class="section" aria-labelledby="templates">
        <div><h2 id="templates">{texts.templates}</h2><p class="page__lead">{texts.templatesText}</p></div>
        <Templates templates={storage.templates} onRemove={(t) => void remove('templates', t)} />
      </section>
      <section class="section" aria-labelledby="disks">
        <Disks disks={storage.disks} templates={storage.templates} onRemove={(d) => void remove('disks', d)}
          head={<div><h2 id="disks">{texts.disks}</h2><p class="page__lead">{texts.disksText}</p></div>} />
      </section>
      {importing && <ImportDialog image={importing} domains={storage.domains} taken={storage.templates.map((t) => t.name)} onClose={() => setImporting(undefined)} onBegun={begun} />}
    </div>
  );
}

/** How often jobs that are under way are looked at, in milliseconds: their ends are no events of their own. */
const pace = 1500;

/** useStorage follows what there is. Files of images make no events: they are looked for again when the page is. */
function useStorage(data: ImagesData): {storage: Storage; stream: Stream; error: unknown; refresh: () => void; begun: (job: string) => void} {
  const [storage, show] = useState<Storage>(data);
  const latest = useRef<Storage>(data);
  const [stream, setStream] = useState<Stream>('open');
  const [error, setError] = useState<unknown>();
  const state = useRef({reading: false, again: false});
  const set = useStable((now: Storage) => {
    latest.current = now;
    show(now);
  });
  const read = useStable(async () => {
    if (state.current.reading) {
      state.current.again = true;
      return;
    }
    state.current.reading = true;
    try {
      do {
        state.current.again = false;
        const now = await readAll(latest.current);
        for (const j of news(latest.current.jobs, now.jobs)) tell(j.status === 'failed' ? j.error ?? '' : undefined, j.description);
        set(now);
        setError(undefined);
      } while (state.current.again);
    } catch (e) {
      setError(e);
    } finally {
      state.current.reading = false;
    }
  });
  const refresh = useStable(() => void read());
  const begun = useStable((id: string) => {
    // It may end before it is seen going on, and its end is to be told all the same.
    set({...latest.current, jobs: [{id, description: texts.work, status: 'started', started: new Date().toISOString()}, ...latest.current.jobs]});
    refresh();
  });
  useEffect(() => {
    const looked = () => { if (!document.hidden) refresh(); };
    addEventListener('focus', looked);
    const end = follow({since: data.lastEvent, onStream: setStream, onGap: refresh, onEvents: (events) => { if (touches(events)) refresh(); }});
    return () => {
      removeEventListener('focus', looked);
      end();
    };
  }, []);
  const going = storage.jobs.some((j) => j.status === 'started');
  useEffect(() => {
    if (!going) return;
    const timer = setInterval(refresh, pace);
    return () => clearInterval(timer);
  }, [going]);
  return {storage, stream, error, refresh, begun};
}

async function readAll(before: Storage): Promise<Storage> {
  const items = async <T,>(path: string) => (await get<{items: T[]}>(path)).items;
  const [images, templates, disks, jobs] = await Promise.all([
    items<Storage['images'][number]>('/images'), items<Storage['templates'][number]>('/templates'), items<Storage['disks'][number]>('/disks'),
    items<Storage['jobs'][number]>('/jobs'),
  ]);
  return {images, templates, disks, jobs, domains: before.domains};
}

function tell(failed: string | undefined, what: string): void {
  if (failed === undefined) toast({kind: 'ok', title: fill(texts.done, {what})});
  else toast({kind: 'bad', title: fill(texts.undone, {what}), text: failed});
}
