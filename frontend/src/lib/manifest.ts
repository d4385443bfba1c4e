import type { QueryClient } from "@tanstack/react-query";
import type { LucideIcon } from "lucide-react";
import type { ComponentType } from "react";
import type { Search } from "../core/search";
import type { DialogName } from "./dialogs";
import type { PlainTextKey } from "./text/useTranslation";

/** A page of a feature, loaded when it is first opened. */
export interface PageRoute {
  load: () => Promise<ComponentType>;
  /** Requests what the page draws first, under the keys of its own queries. */
  prepare?: (queries: QueryClient, params: Readonly<Record<string, string>>, search: Search) => void;
}

/** Groups of navigation items that one menu holds. */
export type NavigationGroupName = "oncall" | "library";

/** An item of the main navigation. The command palette lists it too, with `permission` only for users who have it. */
export interface NavigationItem {
  to: string;
  key: PlainTextKey;
  icon: LucideIcon;
  group?: NavigationGroupName;
  permission?: string;
}

/** A command of the palette: it opens a dialog, or a page that is no navigation item. */
export interface PaletteCommand {
  id: string;
  key: PlainTextKey;
  icon: LucideIcon;
  permission?: string;
  dialog?: DialogName;
  to?: string;
  search?: Record<string, string>;
}

export interface DialogProps {
  onClose: () => void;
}

/** What a feature adds to the application. */
export interface FeatureManifest {
  /** Pages by path. */
  routes: Readonly<Record<string, PageRoute>>;
  navigation?: readonly NavigationItem[];
  commands?: readonly PaletteCommand[];
  /** Dialogs by their name in the address. */
  dialogs?: Readonly<Partial<Record<DialogName, () => Promise<ComponentType<DialogProps>>>>>;
}

/** Check a manifest and keep the literal types of its paths, from which the router types its links. */
export const defineFeature = <const M extends FeatureManifest>(manifest: M): M => manifest;
