var e=n=>`/help/${encodeURIComponent(n)}`;export{e as a};
