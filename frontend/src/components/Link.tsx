import { Anchor, type AnchorProps, Button, type ButtonProps } from "@mantine/core";
import { createLink, type LinkComponent } from "@tanstack/react-router";
import { forwardRef } from "react";

const AnchorBase = forwardRef<
  HTMLAnchorElement,
  Omit<AnchorProps, "href"> & { title?: string; tabIndex?: number }
>((props, ref) => <Anchor ref={ref} {...props} />);
AnchorBase.displayName = "AnchorBase";

const ButtonBase = forwardRef<HTMLAnchorElement, ButtonProps>((props, ref) => (
  <Button ref={ref} component="a" {...props} />
));
ButtonBase.displayName = "ButtonBase";

const RouterAnchor = createLink(AnchorBase);
const RouterButton = createLink(ButtonBase);

/** Text link to a route. */
export const Link: LinkComponent<typeof AnchorBase> = (props) => <RouterAnchor preload="intent" {...props} />;

/** Link to a route, styled as a button. */
export const ButtonLink: LinkComponent<typeof ButtonBase> = (props) => (
  <RouterButton preload="intent" {...props} />
);
