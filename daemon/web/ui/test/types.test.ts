import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import path from 'node:path';
import {test} from 'node:test';
import spec from '../../../api/openapi.json';

type Schema = {type?: string; enum?: string[]; $ref?: string; allOf?: Schema[]; items?: Schema; properties?: Record<string, Schema>; required?: string[]; additionalProperties?: Schema | boolean};
const schemas = spec.components.schemas as unknown as Record<string, Schema>;

/** The interfaces of types.ts whose schema has another name. */
const otherwise: Record<string, string> = {GuestReport: 'Report', BootModule: 'Module', ReportResult: 'Result', Doc: 'Document', SeedFile: 'File', RenderRequest: 'RenderMachineRequest', DaemonEvent: 'Event'};
/** What several requests share, which is no schema of its own. */
const shared: Record<string, string> = {Settings: 'ConvertRequest'};

type Members = Map<string, {optional: boolean; type: string}>;

/** interfacesOf reads the interfaces of a source: the members of each, without those of objects within them. */
function interfacesOf(source: string): Map<string, {base: string; members: Members}> {
  const out = new Map<string, {base: string; members: Members}>();
  for (const m of source.replace(/\/\*\*[^]*?\*\//g, '').matchAll(/^export interface (\w+)(?: extends (\w+))? \{([^]*?)\}\s*(?=^export|(?![^]))/gm)) {
    const members: Members = new Map();
    const flat = m[3]!.replace(/\{[^{}]*\}/g, 'object');
    for (const [, name, optional, type] of flat.matchAll(/(\w+)(\?)?: ([^;]+);?/g)) members.set(name!, {optional: optional === '?', type: type!.trim()});
    out.set(m[1]!, {base: m[2] ?? '', members});
  }
  return out;
}

const source = readFileSync(path.join(process.cwd(), 'src/lib/types.ts'), 'utf8');
const interfaces = interfacesOf(source);
const aliases = new Map([...source.matchAll(/^export type (\w+) = ([^;]+);/gm)].map((m) => [m[1]!, m[2]!]));

function membersOf(name: string): Members {
  const i = interfaces.get(name)!;
  return new Map([...(i.base ? membersOf(i.base) : []), ...i.members]);
}

const words = (union: string): string[] => [...(aliases.get(union) ?? union).matchAll(/'([^']*)'/g)].map((m) => m[1]!).sort();

/** fits reports whether a type can be what a schema says. A word may stay any text; where the words are listed, it must be all of them. */
function fits(type: string, schema: Schema): boolean {
  const one = schema.allOf?.[0] ?? schema;
  if (one.$ref) {
    const target = one.$ref.split('/').pop()!;
    return interfaces.has(type) ? (otherwise[type] ?? type) === target : fits(type, schemas[target]!);
  }
  if (one.enum) return type === 'string' || words(type).join() === [...one.enum].sort().join();
  switch (one.type) {
    case 'integer': case 'number': return type === 'number';
    case 'array': return type.endsWith('[]') && (type === 'object[]' || fits(type.slice(0, -2), one.items ?? {}));
    case 'object': return type === 'object' || type.startsWith('Record<');
    default: return type === one.type;
  }
}

test('the types of the page are those of the API', () => {
  assert.ok(interfaces.size > 15);
  for (const name of interfaces.keys()) {
    const schema = schemas[shared[name] ?? otherwise[name] ?? name];
    assert.ok(schema, `${name} is a schema of the API`);
    const members = membersOf(name);
    const all = Object.keys(schema.properties ?? {}).filter((p) => !(name in shared) || !['documents', 'to'].includes(p));
    assert.deepEqual([...members.keys()].sort(), all.sort(), `the members of ${name}`);
    for (const [member, {optional, type}] of members) {
      assert.equal(optional, !(schema.required ?? []).includes(member), `${name}.${member} may be absent`);
      assert.ok(fits(type, schema.properties![member]!), `${name}.${member}: ${type} is ${JSON.stringify(schema.properties![member])}`);
    }
  }
});
