/** The page is not there yet. */
export default function Page(_: {data: unknown}) {
  return null;
}
