import{ea as o,fa as r,w as t}from"./chunk-JMMEA6UC.js";function i(){return o("p",{class:"quiet",children:o(r,{text:t.empty.notFound})})}export{i as a};
