import{a as n,n as o}from"./chunk-XTTB2QZY.js";function i(e,r){let[t="",p=""]=e.split(/\{\w+\}/);return o(n,{children:[t,r,p]})}export{i as a};
