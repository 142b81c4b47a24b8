var e;function n(t){return e=t,()=>{e===t&&(e=void 0)}}var o=t=>e?.toast(t),i=t=>e?.ask(t)??Promise.resolve({go:!1,option:!1});export{n as a,o as b,i as c};
