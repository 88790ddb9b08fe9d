import{ga as o,ha as r,w as t}from"./chunk-T3N7GZ4P.js";function i(){return o("p",{class:"quiet",children:o(r,{text:t.empty.notFound})})}export{i as a};
