import{b as t}from"./chunk-WCSK2ZYD.js";var l=(r,n)=>r===0?"":o(n,r);function o(r,n,e={}){return t(n===1?r.one:r.other,{n:n.toLocaleString("en-US"),...e})}export{l as a,o as b};
