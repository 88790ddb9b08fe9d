import{K as o,L as r,r as t}from"./chunk-G5TLB7OH.js";function i(){return o("p",{class:"quiet",children:o(r,{text:t.empty.notFound})})}export{i as a};
