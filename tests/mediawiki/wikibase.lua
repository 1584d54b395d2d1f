-- mw.wikibase of a page that has no item: every question is answered with nothing.
local wikibase = {}

function wikibase.setupInterface()
    wikibase.setupInterface = nil
    setmetatable(wikibase, { __index = function() return function() return nil end end })
    mw = mw or {}
    mw.wikibase = wikibase
    package.loaded['mw.wikibase'] = wikibase
end

return wikibase
