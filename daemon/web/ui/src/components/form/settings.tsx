// What is said beside documents that the form does not edit: the machine's name, what it boots from, its size and its data source.
import {parseSize, writeSize} from '../../lib/sizes';
import {bootable, nameForImage} from '../../lib/source';
import {fill} from '../../lib/texts';
import type {Image, Settings, Template, Version} from '../../lib/types';
import texts from '../../texts/compose.json';
import {SelectField, TextField} from '../field';
import {Delivery} from './delivery';
import {useTyped} from './controls';

/** What the part needs. */
export interface BesideProps { settings: Settings; onSettings: (settings: Settings) => void; templates: Template[]; images: Image[]; version: Version;
  /** The documents do not name the machine. */
  nameless: boolean; error: string | undefined }

/** The part beside documents of other forms. */
export function BesideDocuments({settings, onSettings, templates, images, version, nameless, error}: BesideProps) {
  const put = (field: keyof Settings, value: string | number | undefined) => {
    const {[field]: _, ...rest} = settings;
    onSettings(value ? {...rest, [field]: value} as Settings : rest);
  };
  const [memory, setMemory] = useTyped(writeSize(settings.memory), (t) => writeSize(parseSize(t)));
  const source = settings.template ? `template:${settings.template}` : settings.image ? `image:${settings.image}` : '';
  const from = bootable(templates, images, settings.template);
  const choose = (v: string) => {
    const {template: _, image: __, ...rest} = settings;
    const at = v.indexOf(':');
    onSettings(at < 0 ? rest : {...rest, [v.slice(0, at)]: v.slice(at + 1)});
  };
  return (
    <section class="part" aria-labelledby="part-beside">
      <h2 id="part-beside">{texts.settings.title}</h2>
      <p class="field__help">{texts.settings.help}</p>
      <div class="form">
        <TextField label={texts.general.name} help={texts.general.nameHelp} optional={!nameless} error={error} value={settings.name ?? ''} onValue={(v) => put('name', v.trim())}
          placeholder={nameless ? 'web-1' : texts.settings.default} data-field="metadata.name" />
        <SelectField label={texts.general.from} value={source} onValue={choose} data-field="source">
          <option value="">{texts.settings.default}</option>
          {from.templates.length > 0 && <optgroup label={texts.general.fromTemplates}>
            {from.templates.map((t) => <option key={t.id} value={`template:${t.id}`}>{t.name}</option>)}
          </optgroup>}
          {from.images.length > 0 && <optgroup label={texts.general.fromImages}>
            {from.images.map((i) => <option key={i.id} value={`image:${nameForImage(i)}`}>{i.name}</option>)}
          </optgroup>}
        </SelectField>
        <TextField label={texts.general.memory} help={texts.general.memoryHelp} value={memory} placeholder={texts.settings.default} onValue={(v) => { setMemory(v); put('memory', parseSize(v)); }} />
        <TextField label={texts.general.cpus} inputMode="numeric" value={settings.cpus ? String(settings.cpus) : ''} placeholder={texts.settings.default} onValue={(v) => put('cpus', Number(v.replace(/\D/g, '')) || undefined)} />
        <SelectField label={texts.general.dataSource} help={texts.general.dataSourceHelp} value={settings.dataSource ?? ''} onValue={(v) => put('dataSource', v)}>
          <option value="">{fill(texts.general.dataSourceDefault, {name: texts.settings.default.toLowerCase()})}</option>
          {version.dataSources.map((d) => <option key={d} value={d}>{d}</option>)}
        </SelectField>
        <Delivery mode="new" settings={settings} onSettings={onSettings} version={version} />
      </div>
    </section>
  );
}
