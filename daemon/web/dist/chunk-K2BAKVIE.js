function s(n,e){let o=0;for(let r=1;r<e.line;r++){let t=n.indexOf(`
`,o);if(t<0)return n.length;o=t+1}let i=o;for(let r=1;r<e.column&&i<n.length&&n[i]!==`
`;r++)i+=n.codePointAt(i)>65535?2:1;return i}function c(n,e){let o=n.lastIndexOf(`
`,e-1)+1,i=1;for(let r=n.indexOf(`
`);r>=0&&r<o;r=n.indexOf(`
`,r+1))i++;return{line:i,column:[...n.slice(o,e)].length+1}}function l(n,e,o){return n.filter(i=>f(i,e)===o)}function f(n,e){let o=n.range?.file??"";if(!o)return e.length===1?0:-1;let i=e.findIndex((r,t)=>(r.name||`document ${t+1}`)===o);return i>=0?i:e.length===1?0:-1}function u(n){return["error","warning","note"].find(e=>n.some(o=>o.severity===e))}export{s as a,c as b,l as c,f as d,u as e};
