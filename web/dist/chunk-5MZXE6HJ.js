import{K as o,L as r,r as t}from"./chunk-CWPD2IF2.js";function i(){return o("p",{class:"quiet",children:o(r,{text:t.empty.notFound})})}export{i as a};
