/** explanation is where the page explains a diagnostic's code at length, as vmseed explain does. */
export const explanation = (code: string): string => `/help/${encodeURIComponent(code)}`;
