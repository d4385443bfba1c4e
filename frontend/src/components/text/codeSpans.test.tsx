import { render } from "@testing-library/react";
import { expect, it } from "vitest";
import { CodeSpans } from "./CodeSpans";

it.each([
  [
    "run `jcmd PID Compiler.perfmap` first",
    "run jcmd PID Compiler.perfmap first",
    ["jcmd PID Compiler.perfmap"],
  ],
  ["`a` and `b`", "a and b", ["a", "b"]],
  ["a ` without a partner", "a ` without a partner", []],
  ["no code", "no code", []],
])("renders text between backticks as code: %s", (text, displayed, codes) => {
  const { container } = render(<CodeSpans text={text} />);
  expect(container).toHaveTextContent(displayed);
  expect([...container.querySelectorAll("code")].map((item) => item.textContent)).toEqual(codes);
});
