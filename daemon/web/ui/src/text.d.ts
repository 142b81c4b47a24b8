// What esbuild makes of a file of text.
declare module '*.txt' {
  const text: string;
  export default text;
}
