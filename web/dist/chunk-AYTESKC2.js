import{ga as o,ha as r,w as t}from"./chunk-JCQXOKFH.js";function i(){return o("p",{class:"quiet",children:o(r,{text:t.empty.notFound})})}export{i as a};
