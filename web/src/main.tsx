import { render } from "preact";
import { App } from "./app";
import { start } from "./entry";

render(<App />, document.getElementById("app")!);
void start();
