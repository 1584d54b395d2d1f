<?php
# mw.wikibase for modules: no page has an item (wikibase.lua).
class DsWikibase extends Scribunto_LuaLibraryBase {
	public function register() {
		return $this->getEngine()->registerInterface( __DIR__ . '/wikibase.lua', [], [] );
	}
}
