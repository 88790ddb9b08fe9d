import { render } from "preact";
import { App } from "./app";
import { start } from "./state";

render(<App />, document.getElementById("app")!);
void start();
