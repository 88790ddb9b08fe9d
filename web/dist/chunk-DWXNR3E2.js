import{ea as o,fa as r,w as t}from"./chunk-3PGKFKRV.js";function i(){return o("p",{class:"quiet",children:o(r,{text:t.empty.notFound})})}export{i as a};
