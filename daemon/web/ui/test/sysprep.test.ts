import assert from 'node:assert/strict';
import {test} from 'node:test';
import {answersOf, defaultZone, noAnswers, vmOf} from '../src/lib/sysprep';
import {windowsZones} from '../src/lib/zones';

test('answers are read back from an answer file', () => {
  const hidden = (text: string) => Buffer.from(text, 'utf16le').toString('base64');
  const file = `<unattend><settings><component><ComputerName>WIN-1</ComputerName><TimeZone>W. Europe Standard Time</TimeZone></component>
    <component><Identification><Credentials><Domain>corp</Domain><Password>p&amp;q</Password><Username>join</Username></Credentials>
      <JoinDomain>corp.example.org</JoinDomain><MachineObjectOU>OU=&quot;x&quot;</MachineObjectOU></Identification></component>
    <UserAccounts><AdministratorPassword><Value>${hidden('Säcret&1AdministratorPassword')}</Value><PlainText>false</PlainText></AdministratorPassword>
    <LocalAccounts><LocalAccount wcm:action="add"><Password><Value>x</Value></Password><Name>ada</Name></LocalAccount></LocalAccounts></UserAccounts></settings></unattend>`;
  assert.deepEqual(answersOf(file), {...noAnswers, host_name: 'WIN-1', timezone: 'W. Europe Standard Time', domain: 'corp.example.org', active_directory_ou: 'OU="x"',
    user_name: 'ada', root_password: 'Säcret&1', joinUser: 'join', joinPassword: 'p&q'});
  assert.equal(answersOf('<AdministratorPassword><Value>clear&#33;</Value><PlainText>true</PlainText></AdministratorPassword>').root_password, 'clear!');
  assert.equal(answersOf('<AdministratorPassword><Value>%%%</Value><PlainText>false</PlainText></AdministratorPassword>').root_password, '');
  assert.deepEqual(answersOf('no file'), noAnswers);
});

test('what is typed cannot end the element that it stands in', () => {
  const vm = vmOf('a', {...noAnswers, org_name: '</org_name><script>"\'&', root_password: ' x '});
  assert.match(vm, /<org_name>&#60;\/org_name&#62;&#60;script&#62;&#34;&#39;&#38;<\/org_name>/);
  assert.match(vm, /<root_password> x <\/root_password>/);
  assert.doesNotMatch(vm, /<domain>|<host_name>/);
});

test('the time zones of Windows are those of which the daemon writes answer files', () => {
  assert.ok(windowsZones.length > 130);
  for (const zone of [defaultZone, 'W. Europe Standard Time', 'UTC']) assert.ok(windowsZones.includes(zone), zone);
  assert.ok(!windowsZones.some((z) => /[/:]/.test(z)));
});
