// The fold "Custom Script", or "Ignition Script", of Initial Run.
import {agentOf, scriptOf, setScript} from '../../lib/initial';
import {counted} from '../../lib/words';
import {fill} from '../../lib/texts';
import texts from '../../texts/compose.json';
import Editor from '../editor';
import {Fold, useForm} from './controls';

/** The fold with the script. An Ignition config that is put here makes the machine one for Ignition. */
export function CustomScript({open}: {open?: boolean}) {
  const {tree, change, error} = useForm();
  const ignition = agentOf(tree) === 'ignition';
  const script = scriptOf(tree, ignition ? 'ignition' : 'user-data');
  const title = ignition ? texts.script.ignition : texts.script.custom;
  const rows = script.text.trim() ? script.text.trimEnd().split('\n').length : 0;
  const wrong = error(script.path);
  return (
    <Fold title={title} name="script" open={open ?? false} hint={counted(rows, texts.script.hint)}>
      {script.elsewhere ? <p class="field__help">{texts.script.elsewhere}</p> : (
        <div class="field" data-field={script.path}>
          <p class="field__help">{ignition ? texts.script.ignitionHelp : texts.script.customHelp} {script.others > 0 && fill(texts.script.others, {count: script.others + 1})}</p>
          <div class="script"><Editor value={script.text} label={title} language={ignition ? undefined : script.text.startsWith('#!') ? 'shell' : 'yaml'} fill
            onChange={(text) => change((t) => setScript(t, text))} /></div>
          {wrong && <div class="field__error">{wrong}</div>}
        </div>
      )}
    </Fold>
  );
}
