import{b as e}from"./chunk-WCSK2ZYD.js";function i(r,n,t={}){return e(n===1?r.one:r.other,{n:n.toLocaleString("en-US"),...t})}export{i as a};
