// The choice of how the guest gets its seed. The definition does not say that: it is the daemon's to know of a machine, or of one run.
import type {Mode} from '../../lib/work';
import type {Settings, Version} from '../../lib/types';
import texts from '../../texts/compose.json';
import {SelectField} from '../field';

/** What the choice needs. */
export interface DeliveryProps { mode: Mode; settings: Settings; onSettings: (settings: Settings) => void; version: Version }

/** The choice: for one run the machine's own way is the first. */
export function Delivery({mode, settings, onSettings, version}: DeliveryProps) {
  const names: Record<string, string> = texts.delivery.names;
  return (
    <SelectField label={texts.delivery.label} help={texts.delivery.help} value={settings.delivery ?? (mode === 'run' ? '' : 'auto')} data-field="delivery"
      onValue={(delivery) => {
        const {delivery: _, ...rest} = settings;
        onSettings(delivery ? {...rest, delivery} : rest);
      }}>
      {mode === 'run' && <option value="">{texts.delivery.own}</option>}
      {version.deliveries.map((d) => <option key={d} value={d}>{names[d] ?? d}</option>)}
    </SelectField>
  );
}
