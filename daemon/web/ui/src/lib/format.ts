// Numbers and times as people read them. Everything is in the English of the texts, whatever the browser's language.

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/** bytes writes a size with a binary unit and at most one digit behind the point: 1536 is 1.5 KiB. */
export function bytes(n: number): string {
  let unit = 0;
  while (n >= (unit === 0 ? 1024 : 1023.5) && unit < units.length - 1) {
    n /= 1024;
    unit++;
  }
  return `${unit === 0 || n >= 100 ? Math.round(n) : Math.round(n * 10) / 10} ${units[unit]}`;
}

/** count writes a whole number with its thousands apart. */
export const count = (n: number): string => n.toLocaleString('en-US');

/** duration writes seconds with the two largest units: 4.2 s below ten seconds, then 42 s, 3 min 5 s, 2 h 10 min, 3 d 4 h. */
export function duration(seconds: number): string {
  const s = Math.max(0, seconds);
  if (s < 9.95) return `${Math.round(s * 10) / 10} s`;
  const whole = Math.round(s);
  if (whole < 60) return `${whole} s`;
  const two = (big: number, bigUnit: string, small: number, smallUnit: string) => (small ? `${big} ${bigUnit} ${small} ${smallUnit}` : `${big} ${bigUnit}`);
  if (whole < 3600) return two(Math.floor(whole / 60), 'min', whole % 60, 's');
  if (whole < 86400) return two(Math.floor(whole / 3600), 'h', Math.floor((whole % 3600) / 60), 'min');
  return two(Math.floor(whole / 86400), 'd', Math.floor((whole % 86400) / 3600), 'h');
}

/** relative says how long ago a time was, in one unit; what is older than a month is a date. A clock that is ahead of ours is now. */
export function relative(time: string, now: number): string {
  const s = (now - Date.parse(time)) / 1000;
  if (Number.isNaN(s)) return time;
  if (s < 45) return 'just now';
  if (s < 3600) return `${Math.max(1, Math.round(s / 60))} min ago`;
  if (s < 86400) return `${Math.round(s / 3600)} h ago`;
  if (s < 30 * 86400) return `${Math.round(s / 86400)} d ago`;
  return day(new Date(time));
}

const two = (n: number) => String(n).padStart(2, '0');
const day = (t: Date) => `${t.getFullYear()}-${two(t.getMonth() + 1)}-${two(t.getDate())}`;

/** absolute is a time of the browser's zone to the second, the most significant first. */
export function absolute(time: string): string {
  const t = new Date(time);
  return Number.isNaN(t.getTime()) ? time : `${day(t)} ${clock(time)}`;
}

/** clock is the time of the day alone. */
export function clock(time: string): string {
  const t = new Date(time);
  return Number.isNaN(t.getTime()) ? time : `${two(t.getHours())}:${two(t.getMinutes())}:${two(t.getSeconds())}`;
}
