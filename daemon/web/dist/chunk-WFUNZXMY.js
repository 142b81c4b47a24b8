import{a,b,c,d}from"./chunk-5NGQUMRA.js";import"./chunk-K2BAKVIE.js";import"./chunk-I4EZXZ4A.js";export{c as fieldPath,b as fieldSpan,d as placed,a as spanOf};
