function n(t){return null}export{n as default};
