/* Made by scripts/make_codes.py of the facts in Debian's package iso-codes; not to be changed by hand. */
#include "pipeline/text/words/codes_iso639.h"

// clang-format off
const struct iso_language iso_languages[] = {
    {"aa", "aar", "", "Afar"}, {"ab", "abk", "", "Abkhazian"}, {"ace", "", "", "Achinese"}, {"ady", "", "", "Adyghe"},
    {"ae", "ave", "", "Avestan"}, {"af", "afr", "", "Afrikaans"}, {"ak", "aka", "", "Akan"},
    {"als", "", "", "Tosk Albanian"}, {"alt", "", "", "Southern Altai"}, {"am", "amh", "", "Amharic"},
    {"ami", "", "", "Amis"}, {"an", "arg", "", "Aragonese"}, {"ang", "", "", "Old English"}, {"ann", "", "", "Obolo"},
    {"anp", "", "", "Angika"}, {"ar", "ara", "", "Arabic"}, {"arc", "", "", "Official Aramaic"},
    {"ary", "", "", "Moroccan Arabic"}, {"arz", "", "", "Egyptian Arabic"}, {"as", "asm", "", "Assamese"},
    {"ast", "", "", "Asturian"}, {"atj", "", "", "Atikamekw"}, {"av", "ava", "", "Avaric"}, {"avk", "", "", "Kotava"},
    {"awa", "", "", "Awadhi"}, {"ay", "aym", "", "Aymara"}, {"az", "aze", "", "Azerbaijani"},
    {"azb", "", "", "South Azerbaijani"}, {"ba", "bak", "", "Bashkir"}, {"ban", "", "", "Balinese"},
    {"bar", "", "", "Bavarian"}, {"bbc", "", "", "Batak Toba"}, {"bcl", "", "", "Central Bikol"},
    {"bdr", "", "", "West Coast Bajau"}, {"be", "bel", "", "Belarusian"}, {"bew", "", "", "Betawi"},
    {"bg", "bul", "", "Bulgarian"}, {"bi", "bis", "", "Bislama"}, {"bjn", "", "", "Banjar"},
    {"blk", "", "", "Pa'o Karen"}, {"bm", "bam", "", "Bambara"}, {"bn", "ben", "", "Bengali"},
    {"bo", "bod", "tib", "Tibetan"}, {"bpy", "", "", "Bishnupriya"}, {"br", "bre", "", "Breton"},
    {"bs", "bos", "", "Bosnian"}, {"btm", "", "", "Batak Mandailing"}, {"bug", "", "", "Buginese"},
    {"bxr", "", "", "Russia Buriat"}, {"ca", "cat", "", "Catalan"}, {"cdo", "", "", "Min Dong Chinese"},
    {"ce", "che", "", "Chechen"}, {"ceb", "", "", "Cebuano"}, {"ch", "cha", "", "Chamorro"},
    {"cho", "", "", "Choctaw"}, {"chr", "", "", "Cherokee"}, {"chy", "", "", "Cheyenne"},
    {"ckb", "", "", "Central Kurdish"}, {"co", "cos", "", "Corsican"}, {"cr", "cre", "", "Cree"},
    {"crh", "", "", "Crimean Tatar"}, {"cs", "ces", "cze", "Czech"}, {"csb", "", "", "Kashubian"},
    {"cu", "chu", "", "Church Slavic"}, {"cv", "chv", "", "Chuvash"}, {"cy", "cym", "wel", "Welsh"},
    {"da", "dan", "", "Danish"}, {"dag", "", "", "Dagbani"}, {"de", "deu", "ger", "German"},
    {"dga", "", "", "Southern Dagaare"}, {"din", "", "", "Dinka"}, {"diq", "", "", "Dimli"},
    {"dsb", "", "", "Lower Sorbian"}, {"dtp", "", "", "Kadazan Dusun"}, {"dty", "", "", "Dotyali"},
    {"dv", "div", "", "Dhivehi"}, {"dz", "dzo", "", "Dzongkha"}, {"ee", "ewe", "", "Ewe"},
    {"el", "ell", "gre", "Modern Greek"}, {"en", "eng", "", "English"}, {"eo", "epo", "", "Esperanto"},
    {"es", "spa", "", "Spanish"}, {"et", "est", "", "Estonian"}, {"eu", "eus", "baq", "Basque"},
    {"ext", "", "", "Extremaduran"}, {"fa", "fas", "per", "Persian"}, {"fat", "", "", "Fanti"},
    {"ff", "ful", "", "Fulah"}, {"fi", "fin", "", "Finnish"}, {"fj", "fij", "", "Fijian"},
    {"fo", "fao", "", "Faroese"}, {"fon", "", "", "Fon"}, {"fr", "fra", "fre", "French"}, {"frp", "", "", "Arpitan"},
    {"frr", "", "", "Northern Frisian"}, {"fur", "", "", "Friulian"}, {"fy", "fry", "", "Western Frisian"},
    {"ga", "gle", "", "Irish"}, {"gag", "", "", "Gagauz"}, {"gan", "", "", "Gan Chinese"},
    {"gcr", "", "", "Guianese Creole French"}, {"gd", "gla", "", "Scottish Gaelic"}, {"gl", "glg", "", "Galician"},
    {"glk", "", "", "Gilaki"}, {"gn", "grn", "", "Guarani"}, {"gom", "", "", "Goan Konkani"},
    {"gor", "", "", "Gorontalo"}, {"got", "", "", "Gothic"}, {"gpe", "", "", "Ghanaian Pidgin English"},
    {"gsw", "", "", "Swiss German"}, {"gu", "guj", "", "Gujarati"}, {"guc", "", "", "Wayuu"},
    {"gur", "", "", "Farefare"}, {"guw", "", "", "Gun"}, {"gv", "glv", "", "Manx"}, {"ha", "hau", "", "Hausa"},
    {"hak", "", "", "Hakka Chinese"}, {"haw", "", "", "Hawaiian"}, {"he", "heb", "", "Hebrew"},
    {"hi", "hin", "", "Hindi"}, {"hif", "", "", "Fiji Hindi"}, {"ho", "hmo", "", "Hiri Motu"},
    {"hr", "hrv", "", "Croatian"}, {"hsb", "", "", "Upper Sorbian"}, {"ht", "hat", "", "Haitian"},
    {"hu", "hun", "", "Hungarian"}, {"hy", "hye", "arm", "Armenian"}, {"hyw", "", "", "Western Armenian"},
    {"hz", "her", "", "Herero"}, {"ia", "ina", "", "Interlingua"}, {"iba", "", "", "Iban"},
    {"id", "ind", "", "Indonesian"}, {"ie", "ile", "", "Interlingue"}, {"ig", "ibo", "", "Igbo"},
    {"igl", "", "", "Igala"}, {"ii", "iii", "", "Sichuan Yi"}, {"ik", "ipk", "", "Inupiaq"}, {"ilo", "", "", "Iloko"},
    {"inh", "", "", "Ingush"}, {"io", "ido", "", "Ido"}, {"is", "isl", "ice", "Icelandic"},
    {"it", "ita", "", "Italian"}, {"iu", "iku", "", "Inuktitut"}, {"ja", "jpn", "", "Japanese"},
    {"jam", "", "", "Jamaican Creole English"}, {"jbo", "", "", "Lojban"}, {"jv", "jav", "", "Javanese"},
    {"ka", "kat", "geo", "Georgian"}, {"kaa", "", "", "Kara-Kalpak"}, {"kab", "", "", "Kabyle"},
    {"kbd", "", "", "Kabardian"}, {"kbp", "", "", "Kabiyè"}, {"kcg", "", "", "Tyap"}, {"kg", "kon", "", "Kongo"},
    {"kge", "", "", "Komering"}, {"ki", "kik", "", "Kikuyu"}, {"kj", "kua", "", "Kuanyama"},
    {"kk", "kaz", "", "Kazakh"}, {"kl", "kal", "", "Kalaallisut"}, {"km", "khm", "", "Khmer"},
    {"kn", "kan", "", "Kannada"}, {"knc", "", "", "Central Kanuri"}, {"ko", "kor", "", "Korean"},
    {"koi", "", "", "Komi-Permyak"}, {"kr", "kau", "", "Kanuri"}, {"krc", "", "", "Karachay-Balkar"},
    {"ks", "kas", "", "Kashmiri"}, {"ksh", "", "", "Kölsch"}, {"ku", "kur", "", "Kurdish"}, {"kus", "", "", "Kusaal"},
    {"kv", "kom", "", "Komi"}, {"kw", "cor", "", "Cornish"}, {"ky", "kir", "", "Kirghiz"}, {"la", "lat", "", "Latin"},
    {"lad", "", "", "Ladino"}, {"lb", "ltz", "", "Luxembourgish"}, {"lbe", "", "", "Lak"},
    {"lez", "", "", "Lezghian"}, {"lfn", "", "", "Lingua Franca Nova"}, {"lg", "lug", "", "Ganda"},
    {"li", "lim", "", "Limburgan"}, {"lij", "", "", "Ligurian"}, {"lld", "", "", "Ladin"}, {"lmo", "", "", "Lombard"},
    {"ln", "lin", "", "Lingala"}, {"lo", "lao", "", "Lao"}, {"lrc", "", "", "Northern Luri"},
    {"lt", "lit", "", "Lithuanian"}, {"ltg", "", "", "Latgalian"}, {"lu", "lub", "", "Luba-Katanga"},
    {"lv", "lav", "", "Latvian"}, {"lzh", "", "", "Literary Chinese"}, {"mad", "", "", "Madurese"},
    {"mai", "", "", "Maithili"}, {"mdf", "", "", "Moksha"}, {"mg", "mlg", "", "Malagasy"},
    {"mh", "mah", "", "Marshallese"}, {"mhr", "", "", "Eastern Mari"}, {"mi", "mri", "mao", "Maori"},
    {"min", "", "", "Minangkabau"}, {"mk", "mkd", "mac", "Macedonian"}, {"ml", "mal", "", "Malayalam"},
    {"mn", "mon", "", "Mongolian"}, {"mni", "", "", "Manipuri"}, {"mnw", "", "", "Mon"}, {"mos", "", "", "Mossi"},
    {"mr", "mar", "", "Marathi"}, {"mrj", "", "", "Western Mari"}, {"ms", "msa", "may", "Malay"},
    {"mt", "mlt", "", "Maltese"}, {"mus", "", "", "Creek"}, {"mwl", "", "", "Mirandese"},
    {"my", "mya", "bur", "Burmese"}, {"myv", "", "", "Erzya"}, {"mzn", "", "", "Mazanderani"},
    {"na", "nau", "", "Nauru"}, {"nan", "", "", "Min Nan Chinese"}, {"nap", "", "", "Neapolitan"},
    {"nb", "nob", "", "Norwegian Bokmål"}, {"nd", "nde", "", "North Ndebele"}, {"nds", "", "", "Low German"},
    {"ne", "nep", "", "Nepali"}, {"new", "", "", "Newari"}, {"ng", "ndo", "", "Ndonga"}, {"nia", "", "", "Nias"},
    {"nl", "nld", "dut", "Dutch"}, {"nn", "nno", "", "Norwegian Nynorsk"}, {"no", "nor", "", "Norwegian"},
    {"nov", "", "", "Novial"}, {"nqo", "", "", "N'Ko"}, {"nr", "nbl", "", "South Ndebele"}, {"nrm", "", "", "Narom"},
    {"nso", "", "", "Pedi"}, {"nup", "", "", "Nupe-Nupe-Tako"}, {"nv", "nav", "", "Navajo"},
    {"ny", "nya", "", "Nyanja"}, {"oc", "oci", "", "Occitan"}, {"oj", "oji", "", "Ojibwa"}, {"olo", "", "", "Livvi"},
    {"om", "orm", "", "Oromo"}, {"or", "ori", "", "Oriya"}, {"os", "oss", "", "Ossetian"},
    {"pa", "pan", "", "Panjabi"}, {"pag", "", "", "Pangasinan"}, {"pam", "", "", "Pampanga"},
    {"pap", "", "", "Papiamento"}, {"pcd", "", "", "Picard"}, {"pcm", "", "", "Nigerian Pidgin"},
    {"pdc", "", "", "Pennsylvania German"}, {"pfl", "", "", "Pfaelzisch"}, {"pi", "pli", "", "Pali"},
    {"pih", "", "", "Pitcairn-Norfolk"}, {"pl", "pol", "", "Polish"}, {"pms", "", "", "Piemontese"},
    {"pnb", "", "", "Western Panjabi"}, {"pnt", "", "", "Pontic"}, {"ps", "pus", "", "Pushto"},
    {"pt", "por", "", "Portuguese"}, {"pwn", "", "", "Paiwan"}, {"qu", "que", "", "Quechua"},
    {"rm", "roh", "", "Romansh"}, {"rmy", "", "", "Vlax Romani"}, {"rn", "run", "", "Rundi"},
    {"ro", "ron", "rum", "Romanian"}, {"rsk", "", "", "Ruthenian"}, {"ru", "rus", "", "Russian"},
    {"rue", "", "", "Rusyn"}, {"rup", "", "", "Macedo-Romanian"}, {"rw", "kin", "", "Kinyarwanda"},
    {"sa", "san", "", "Sanskrit"}, {"sah", "", "", "Yakut"}, {"sat", "", "", "Santali"},
    {"sc", "srd", "", "Sardinian"}, {"scn", "", "", "Sicilian"}, {"sco", "", "", "Scots"},
    {"sd", "snd", "", "Sindhi"}, {"se", "sme", "", "Northern Sami"}, {"sg", "sag", "", "Sango"},
    {"sgs", "", "", "Samogitian"}, {"sh", "hbs", "", "Serbo-Croatian"}, {"shi", "", "", "Tachelhit"},
    {"shn", "", "", "Shan"}, {"shy", "", "", "Tachawit"}, {"si", "sin", "", "Sinhala"},
    {"sk", "slk", "slo", "Slovak"}, {"skr", "", "", "Saraiki"}, {"sl", "slv", "", "Slovenian"},
    {"sm", "smo", "", "Samoan"}, {"smn", "", "", "Inari Sami"}, {"sn", "sna", "", "Shona"},
    {"so", "som", "", "Somali"}, {"sq", "sqi", "alb", "Albanian"}, {"sr", "srp", "", "Serbian"},
    {"srn", "", "", "Sranan Tongo"}, {"ss", "ssw", "", "Swati"}, {"st", "sot", "", "Southern Sotho"},
    {"stq", "", "", "Saterfriesisch"}, {"su", "sun", "", "Sundanese"}, {"sv", "swe", "", "Swedish"},
    {"sw", "swa", "", "Swahili"}, {"szl", "", "", "Silesian"}, {"szy", "", "", "Sakizaya"},
    {"ta", "tam", "", "Tamil"}, {"tay", "", "", "Atayal"}, {"tcy", "", "", "Tulu"}, {"tdd", "", "", "Tai Nüa"},
    {"te", "tel", "", "Telugu"}, {"tet", "", "", "Tetum"}, {"tg", "tgk", "", "Tajik"}, {"th", "tha", "", "Thai"},
    {"ti", "tir", "", "Tigrinya"}, {"tig", "", "", "Tigre"}, {"tk", "tuk", "", "Turkmen"},
    {"tl", "tgl", "", "Tagalog"}, {"tly", "", "", "Talysh"}, {"tn", "tsn", "", "Tswana"}, {"to", "ton", "", "Tonga"},
    {"tpi", "", "", "Tok Pisin"}, {"tr", "tur", "", "Turkish"}, {"trv", "", "", "Sediq"}, {"ts", "tso", "", "Tsonga"},
    {"tt", "tat", "", "Tatar"}, {"tum", "", "", "Tumbuka"}, {"tw", "twi", "", "Twi"}, {"ty", "tah", "", "Tahitian"},
    {"tyv", "", "", "Tuvinian"}, {"udm", "", "", "Udmurt"}, {"ug", "uig", "", "Uighur"},
    {"uk", "ukr", "", "Ukrainian"}, {"ur", "urd", "", "Urdu"}, {"uz", "uzb", "", "Uzbek"}, {"ve", "ven", "", "Venda"},
    {"vec", "", "", "Venetian"}, {"vep", "", "", "Veps"}, {"vi", "vie", "", "Vietnamese"}, {"vls", "", "", "Vlaams"},
    {"vo", "vol", "", "Volapük"}, {"vro", "", "", "Võro"}, {"wa", "wln", "", "Walloon"}, {"war", "", "", "Waray"},
    {"wo", "wol", "", "Wolof"}, {"wuu", "", "", "Wu Chinese"}, {"xal", "", "", "Kalmyk"}, {"xh", "xho", "", "Xhosa"},
    {"xmf", "", "", "Mingrelian"}, {"yi", "yid", "", "Yiddish"}, {"yo", "yor", "", "Yoruba"},
    {"yue", "", "", "Yue Chinese"}, {"za", "zha", "", "Zhuang"}, {"zea", "", "", "Zeeuws"},
    {"zgh", "", "", "Standard Moroccan Tamazight"}, {"zh", "zho", "chi", "Chinese"}, {"zu", "zul", "", "Zulu"},
};
// clang-format on

const size_t iso_language_count = sizeof iso_languages / sizeof *iso_languages;

const char iso_triples[] =
    "aaaaabaacaadaaeaafaagaahaaiaakaalaanaaoaapaaqaaraasaataauaavaawaaxaazabaabbabcabdabeabfabgabhabiabjabkablabm"
    "abnaboabpabqabrabsabtabuabvabwabxabyabzacaacbacdaceacfachaciackaclacmacnacpacqacracsactacuacvacwacxacyaczada"
    "adbaddadeadfadgadhadiadjadladnadoadqadradsadtaduadwadxadyadzaeaaebaecaedaeeaekaelaemaenaeqaeraesaeuaewaeyaez"
    "afaafbafdafeafgafhafiafkafnafoafpafrafsaftafuafzagaagbagcagdageagfaggaghagiagjagkaglagmagnagoagqagragsagtagu"
    "agvagwagxagyagzahaahbahgahhahiahkahlahmahnahoahpahrahsahtaiaaibaicaidaieaifaigaihaiiaijaikailaimainaioaipaiq"
    "airaitaiwaixaiyajaajgajiajnajpajsajuajwajzakaakbakcakdakeakfakgakhakiakjakkaklakmakoakpakqakraksaktakuakvakw"
    "akxakyakzalaalbalcaldalealfalgalhalialjalkallalmalnaloalpalqalralsaltalualvalwalxalyalzamaambamcameamfamgamh"
    "amiamjamkamlammamnamoampamqamramsamtamuamvamwamxamyamzanaanbancandaneanfanganhanianjankanlanmannanoanpanqanr"
    "ansantanuanvanwanxanyanzaoaaobaocaodaoeaofaogaoiaojaokaolaomaonaoraosaotaouaoxaozapaapbapcapdapeapfapgaphapi"
    "apjapkaplapmapnapoappapqaprapsaptapuapvapwapxapyapzaqaaqcaqdaqgaqkaqlaqmaqnaqpaqraqtaqzaraarbarcardareargarh"
    "ariarjarkarlarmarnaroarparqarrarsartaruarvarwarxaryarzasaasbascaseasfasgashasiasjaskaslasmasnasoaspasqasrass"
    "astasuasvaswasxasyaszataatbatcatdateatgathatiatjatkatlatmatnatoatpatqatratsattatuatvatwatxatyatzauaaubaucaud"
    "aufaugauhauiaujaukaulaumaunauoaupauqaurausautauuauwauxauyauzavaavbavdaveaviavkavlavmavnavoavsavtavuavvawaawb"
    "awcawdaweawgawhawiawkawmawnawoawrawsawtawuawvawwawxawyaxbaxeaxgaxkaxlaxmaxxayaaybaycaydayeaygayhayiaykaylaym"
    "aynayoaypayqayraysaytayuayzazaazbazcazdazeazgazjazmaznazoaztazzbaababbacbadbaebafbagbahbaibajbakbalbambanbao"
    "bapbaqbarbasbatbaubavbawbaxbaybbabbbbbcbbdbbebbfbbgbbhbbibbjbbkbblbbmbbnbbobbpbbqbbrbbsbbtbbubbvbbwbbxbbybca"
    "bcbbccbcdbcebcfbcgbchbcibcjbckbclbcmbcnbcobcpbcqbcrbcsbctbcubcvbcwbcybczbdabdbbdcbddbdebdfbdgbdhbdibdjbdkbdl"
    "bdmbdnbdobdpbdqbdrbdsbdtbdubdvbdwbdxbdybdzbeabebbecbedbeebefbegbehbeibejbekbelbembenbeobepbeqberbesbetbeubev"
    "bewbexbeybezbfabfbbfcbfdbfebffbfgbfhbfibfjbfkbflbfmbfnbfobfpbfqbfrbfsbftbfubfwbfxbfybfzbgabgbbgcbgdbgebgfbgg"
    "bgibgjbgkbglbgnbgobgpbgqbgrbgsbgtbgubgvbgwbgxbgybgzbhabhbbhcbhdbhebhfbhgbhhbhibhjbhlbhmbhnbhobhpbhqbhrbhsbht"
    "bhubhvbhwbhxbhybhzbiabibbidbiebifbigbihbikbilbimbinbiobipbiqbirbisbitbiubivbiwbixbiybizbjabjbbjcbjebjfbjgbjh"
    "bjibjjbjkbjlbjmbjnbjobjpbjrbjsbjtbjubjvbjwbjxbjybjzbkabkcbkdbkfbkgbkhbkibkjbkkbklbkmbknbkobkpbkqbkrbksbktbku"
    "bkvbkwbkxbkybkzblablbblcbldbleblfblhblibljblkbllblmblnbloblpblqblrblsbltblvblwblxblyblzbmabmbbmcbmdbmebmfbmg"
    "bmhbmibmjbmkbmlbmmbmnbmobmpbmqbmrbmsbmtbmubmvbmwbmxbmzbnabnbbncbndbnebnfbngbnibnjbnkbnlbnmbnnbnobnpbnqbnrbns"
    "bntbnubnvbnwbnxbnybnzboabobbodboebofbogbohboibojbokbolbombonboobopboqborbosbotboubovbowboxboybozbpabpcbpdbpe"
    "bpgbphbpibpjbpkbplbpmbpnbpobppbpqbprbpsbptbpubpvbpwbpxbpybpzbqabqbbqcbqdbqfbqgbqhbqibqjbqkbqlbqmbqnbqobqpbqq"
    "bqrbqsbqtbqubqvbqwbqxbqybqzbrabrbbrcbrdbrebrfbrgbrhbribrjbrkbrlbrmbrnbrobrpbrqbrrbrsbrtbrubrvbrwbrxbrybrzbsa"
    "bsbbscbsebsfbsgbshbsibsjbskbslbsmbsnbsobspbsqbsrbssbstbsubsvbswbsxbsybtabtcbtdbtebtfbtgbthbtibtjbtkbtmbtnbto"
    "btpbtqbtrbtsbttbtubtvbtwbtxbtybtzbuabubbucbudbuebufbugbuhbuibujbukbulbumbunbuobupbuqburbusbutbuubuvbuwbuxbuy"
    "buzbvabvbbvcbvdbvebvfbvgbvhbvibvjbvkbvlbvmbvnbvobvpbvqbvrbvtbvubvvbvwbvxbvybvzbwabwbbwcbwdbwebwfbwgbwhbwibwj"
    "bwkbwlbwmbwnbwobwpbwqbwrbwsbwtbwubwwbwxbwybwzbxabxbbxcbxdbxebxfbxgbxhbxibxjbxkbxlbxmbxnbxobxpbxqbxrbxsbxubxv"
    "bxwbxzbyabybbycbydbyebyfbygbyhbyibyjbykbylbymbynbyobypbyqbyrbysbytbyvbywbyxbyzbzabzbbzcbzdbzebzfbzgbzhbzibzj"
    "bzkbzlbzmbznbzobzpbzqbzrbzsbztbzubzvbzwbzxbzybzzcaacabcaccadcaecafcagcahcaicajcakcalcamcancaocapcaqcarcascat"
    "caucavcawcaxcaycazcbacbbcbccbdcbgcbicbjcbkcblcbncbocbqcbrcbscbtcbucbvcbwcbycccccdcceccgcchccjcclccmccnccoccp"
    "ccrccscdacdccddcdecdfcdhcdicdjcdmcdncdocdrcdscdycdzceacebcegcekcelcencescetceycfacfdcfgcfmcgacgccggcgkchachb"
    "chcchdchechfchgchhchichjchkchlchmchnchochpchqchrchtchuchvchwchxchychzciacibciccidciecihcikcimcincipcirciwciy"
    "cjacjecjhcjicjkcjmcjncjocjpcjscjvcjyckbckhcklckmcknckockqckrckscktckuckvckxckyckzclaclccldcleclhclicljclkcll"
    "clmclocltcluclwclycmacmccmecmgcmicmlcmmcmncmocmrcmscmtcnacnbcnccngcnhcnicnkcnlcnocnpcnqcnrcnscntcnucnwcnxcoa"
    "cobcoccodcoecofcogcohcojcokcolcomconcoocopcoqcorcoscotcoucovcowcoxcozcpacpbcpccpecpfcpgcpicpncpocppcpscpucpx"
    "cpycqdcracrbcrccrdcrecrfcrgcrhcricrjcrkcrlcrmcrncrocrpcrqcrrcrscrtcrvcrwcrxcrycrzcsacsbcsccsdcsecsfcsgcshcsi"
    "csjcskcslcsmcsncsocspcsqcsrcsscstcsucsvcswcsxcsycszctactcctdctectgcthctlctmctnctoctpctscttctuctyctzcuacubcuc"
    "cuhcuicujcukculcuocupcuqcurcuscutcuucuvcuwcuxcuycvgcvncwacwbcwdcwecwgcwtcyacybcymcyoczeczhczkcznczocztdaadac"
    "daddaedagdahdaidajdakdaldamdandaodaqdardasdaudavdawdaxdaydazdbadbbdbddbedbfdbgdbidbjdbldbmdbndbodbpdbqdbrdbt"
    "dbudbvdbwdbydccdcrddadddddeddgddiddjddnddoddrddsddwdecdeddeedefdegdehdeidekdeldemdendepdeqderdesdeudevdezdga"
    "dgbdgcdgddgedggdghdgidgkdgldgndgodgrdgsdgtdgwdgxdgzdhddhgdhidhldhmdhndhodhrdhsdhudhvdhwdhxdiadibdicdiddifdig"
    "dihdiidijdikdildimdindiodipdiqdirdisdiudivdiwdixdiydizdjadjbdjcdjddjedjfdjidjjdjkdjmdjndjodjrdjudjwdkadkgdkk"
    "dkrdksdkxdlgdlkdlmdlndmadmbdmcdmddmedmfdmgdmkdmldmmdmndmodmrdmsdmudmvdmwdmxdmydnadnddnedngdnidnjdnkdnndnodnr"
    "dntdnudnvdnwdnydoadobdocdoedofdohdoidokdoldondoodopdoqdordosdotdovdowdoxdoydozdppdradrbdrcdrddredrgdridrldrn"
    "drodrqdrsdrtdrudrydsbdsedshdsidsldsndsodsqdszdtadtbdtddthdtidtkdtmdtndtodtpdtrdtsdttdtudtyduadubducduedufdug"
    "duhduidukduldumdunduodupduqdurdusdutduuduvduwduxduyduzdvadwadwkdwrdwsdwudwwdwydwzdyadybdyddygdyidymdyndyodyu"
    "dyydzadzedzgdzldzndzoeaaebcebgebkeboebrebuecrecsecyeeeefaefeefiegaeglegmegoegxegyehsehueipeiteivejaekaekeekg"
    "ekiekkeklekmekoekpekrekyeleelhelielkellelmeloeluelxemaembemeemgemiemkemmemnempemqemsemuemwemxemyemzenaenbenc"
    "endenfengenhenlenmennenoenqenrenuenvenwenxeotepiepoeraergerherierkeroerrerserterweseesgeshesieskeslesmesneso"
    "esqessestesuesxesyetbetcethetnetoetretsettetuetxetzeuqeuseveevhevneweewoexteyaeyoezaezefaafabfadfaffagfahfai"
    "fajfakfalfamfanfaofapfarfasfatfaufaxfayfazfblfcsferffiffmfgrfiafiefiffijfilfinfipfirfitfiufiwfkkfkvflaflhfli"
    "fllflnflrflyfmpfmufnbfngfnifodfoifomfonforfosfoxfpefqsfrafrcfrdfrefrkfrmfrofrpfrqfrrfrsfrtfryfsefslfssfubfuc"
    "fudfuefuffuhfuifujfulfumfunfuqfurfutfuufuvfuyfvrfwafwegaagabgacgadgaegafgaggahgaigajgakgalgamgangaogapgaqgar"
    "gasgatgaugawgaxgaygazgbagbbgbdgbegbfgbggbhgbigbjgbkgblgbmgbngbogbpgbqgbrgbsgbugbvgbwgbxgbygbzgccgcdgcegcfgcl"
    "gcngcrgctgdagdbgdcgddgdegdfgdggdhgdigdjgdkgdlgdmgdngdogdqgdrgdsgdtgdugdxgeagebgecgedgefgeggehgeigejgekgelgem"
    "geogeqgergesgevgewgexgeygezgfkgftggaggbggdggegggggkgglggtgguggwghaghcgheghhghkghlghnghoghrghsghtgiagibgicgid"
    "giegiggihgiigilgimgingipgiqgirgisgitgiugiwgixgiygizgjkgjmgjngjrgjugkagkdgkegkngkogkpgkuglaglbglcgldgleglgglh"
    "gljglkgllgloglrgluglvglwglygmagmbgmdgmegmggmhgmlgmmgmngmqgmrgmugmvgmwgmxgmygmzgnagnbgncgndgnegnggnhgnignjgnk"
    "gnlgnmgnngnognqgnrgntgnugnwgnzgoagobgocgodgoegofgoggohgoigojgokgolgomgongoogopgoqgorgosgotgougovgowgoxgoygoz"
    "gpagpegpngqagqigqngqrgqugragrbgrcgrdgregrggrhgrigrjgrkgrmgrngrogrqgrrgrsgrtgrugrvgrwgrxgrygrzgsegsggslgsmgsn"
    "gsogspgssgswgtagtuguagubgucgudguegufgugguhguigujgukgulgumgunguogupguqgurgusgutguuguwguxguzgvagvcgvegvfgvjgvl"
    "gvmgvngvogvpgvrgvsgvygwagwbgwcgwdgwegwfgwggwigwjgwmgwngwrgwtgwugwwgwxgxxgyagybgydgyegyfgyggyigylgymgyngyogyr"
    "gyygyzgzagzigznhaahabhachadhaehafhaghahhaihajhakhalhamhanhaohaphaqharhashathauhavhawhaxhayhazhbahbbhbnhbohbs"
    "hbuhcahchhdnhdshdyheahebhedheghehheihemherhgmhgwhhihhrhhyhiahibhidhifhighihhiihijhikhilhimhinhiohirhithiwhix"
    "hjihkahkehkhhkkhknhkshlahlbhldhlehlthluhmahmbhmchmdhmehmfhmghmhhmihmjhmkhmlhmmhmnhmohmphmqhmrhmshmthmuhmvhmw"
    "hmxhmyhmzhnahndhnehnghnhhnihnjhnnhnohnshnuhoahobhochodhoehohhoihojhokholhomhoohophorhoshothovhowhoyhozhpohps"
    "hrahrchrehrkhrmhrohrphrthruhrvhrwhrxhrzhsbhshhslhsnhsshtihtohtshtuhtxhubhuchudhuehufhughuhhuihujhukhulhumhun"
    "huohuphuqhurhushuthuuhuvhuwhuxhuyhuzhvchvehvkhvnhvvhwahwchwohyahyehywhyxiaiianiaribaibbibdibeibgibhiblibmibn"
    "iboibribuibyicaiceichiclicridaidbidciddideidiidoidridsidtiduifaifbifeiffifkifmifuifyigbigeiggigligmignigoigs"
    "igwihbihiihpihwiiiiiniirijcijeijjijnijoijsikeikiikkiklikoikpikriksiktikuikvikwikxikzilailbileilgiliilkilmilo"
    "ilpilsiluilvimaimiimlimnimoimrimsimtimyinainbincindineinginhinjinlinminninoinpinsintinzioriouiowipiipkipoiqu"
    "iqwiraireirhiriirkirniroirriruirxiryisaiscisdiseisgishisiiskislismisnisoisristisuitaitbitcitditeitiitkitlitm"
    "itoitritsittitvitwitxityitziumivbivviwkiwmiwoiwsixcixliyaiyoiyxizhizrizzjaajabjacjadjaejafjahjajjakjaljamjan"
    "jaojaqjasjatjaujavjaxjayjazjbejbijbjjbkjbmjbnjbojbrjbtjbujbwjcsjctjdajdgjdtjebjeejehjeijekjeljenjerjetjeujgb"
    "jgejgkjgojhijhsjiajibjicjidjiejigjihjiijiljimjiojiqjitjiujivjiyjjejjrjkajkmjkojkpjkrjksjkujlejlsjmajmbjmcjmd"
    "jmijmljmnjmrjmsjmwjmxjnajndjngjnijnjjnljnsjobjodjogjorjosjowjpajpnjprjpxjqrjrajrbjrrjrtjrujsljuajubjucjudjuh"
    "juijukjuljumjunjuojupjurjusjutjuujuwjuyjvdjvnjwijyajyejyykaakabkackadkaekafkagkahkaikajkakkalkamkankaokapkaq"
    "karkaskatkaukavkawkaxkaykazkbakbbkbckbdkbekbgkbhkbikbjkbkkblkbmkbnkbokbpkbqkbrkbskbtkbukbvkbwkbxkbykbzkcakcb"
    "kcckcdkcekcfkcgkchkcikcjkckkclkcmkcnkcokcpkcqkcrkcskctkcukcvkcwkcxkcykczkdakdckddkdekdfkdgkdhkdikdjkdkkdlkdm"
    "kdnkdokdpkdqkdrkdtkdukdwkdxkdykdzkeakebkeckedkeekefkegkehkeikejkekkelkemkenkeokepkeqkerkesketkeukevkewkexkey"
    "kezkfakfbkfckfdkfekffkfgkfhkfikfjkfkkflkfmkfnkfokfpkfqkfrkfskftkfukfvkfwkfxkfykfzkgakgbkgekgfkggkgikgjkgkkgl"
    "kgmkgnkgokgpkgqkgrkgskgtkgukgvkgwkgxkgykhakhbkhckhdkhekhfkhgkhhkhikhjkhkkhlkhmkhnkhokhpkhqkhrkhskhtkhukhvkhw"
    "khxkhykhzkiakibkickidkiekifkigkihkiikijkikkilkimkinkiokipkiqkirkiskitkiukivkiwkixkiykizkjakjbkjckjdkjekjgkjh"
    "kjikjjkjkkjlkjmkjnkjokjpkjqkjrkjskjtkjukjvkjxkjykjzkkakkbkkckkdkkekkfkkgkkhkkikkjkkkkklkkmkknkkokkpkkqkkrkks"
    "kktkkukkvkkwkkxkkykkzklaklbklckldkleklfklgklhklikljklkkllklmklnkloklpklqklrklskltkluklvklwklxklyklzkmakmbkmc"
    "kmdkmekmfkmgkmhkmikmjkmkkmlkmmkmnkmokmpkmqkmrkmskmtkmukmvkmwkmxkmykmzknaknbknckndkneknfkngkniknjknkknlknmknn"
    "knoknpknqknrknskntknuknvknwknxknyknzkoakockodkoekofkogkohkoikokkolkomkonkookopkoqkorkoskotkoukovkowkoykozkpa"
    "kpbkpckpdkpekpfkpgkphkpikpjkpkkplkpmkpnkpokpqkprkpskptkpukpvkpwkpxkpykpzkqakqbkqckqdkqekqfkqgkqhkqikqjkqkkql"
    "kqmkqnkqokqpkqqkqrkqskqtkqukqvkqwkqxkqykqzkrakrbkrckrdkrekrfkrhkrikrjkrkkrlkrnkrokrpkrrkrskrtkrukrvkrwkrxkry"
    "krzksaksbkscksdkseksfksgkshksiksjkskkslksmksnksokspksqksrksskstksuksvkswksxksykszktaktbktcktdktektfktgkthkti"
    "ktjktkktlktmktnktoktpktqktskttktuktvktwktxktyktzkuakubkuckudkuekufkugkuhkuikujkukkulkumkunkuokupkuqkurkuskut"
    "kuukuvkuwkuxkuykuzkvakvbkvckvdkvekvfkvgkvhkvikvjkvkkvlkvmkvnkvokvpkvqkvrkvtkvukvvkvwkvxkvykvzkwakwbkwckwdkwe"
    "kwfkwgkwhkwikwjkwkkwlkwmkwnkwokwpkwrkwskwtkwukwvkwwkwxkwykwzkxakxbkxckxdkxfkxhkxikxjkxkkxmkxnkxokxpkxqkxrkxs"
    "kxtkxvkxwkxxkxykxzkyakybkyckydkyekyfkygkyhkyikyjkykkylkymkynkyokypkyqkyrkyskytkyukyvkywkyxkyykyzkzakzbkzckzd"
    "kzekzfkzgkzikzkkzlkzmkznkzokzpkzqkzrkzskzukzvkzwkzxkzykzzlaalablacladlaelaflaglahlailajlallamlanlaolaplaqlar"
    "laslatlaulavlawlaxlaylazlbblbclbelbflbglbilbjlbklbllbmlbnlbolbqlbrlbslbtlbulbvlbwlbxlbylbzlcclcdlcelcflchlcl"
    "lcmlcplcqlcsldaldblddldgldhldildjldkldlldmldnldoldpldqlealeblecledleeleflehleilejleklellemlenleolepleqlerles"
    "letleulevlewlexleylezlfalfnlgalgblgglghlgilgklgllgmlgnlgolgqlgrlgtlgulgzlhalhhlhilhllhmlhnlhplhslhtlhulialib"
    "liclidlielifliglihlijliklillimlinliolipliqlirlislitliulivliwlixliylizljaljeljiljlljpljwljxlkalkblkclkdlkelkh"
    "lkilkjlkllkmlknlkolkrlkslktlkulkyllallbllclldllellfllgllhllilljllklllllmllnllpllqllsllullxlmalmblmclmdlmelmf"
    "lmglmhlmilmjlmklmllmnlmolmplmqlmrlmulmvlmwlmxlmylnalnblndlnglnhlnilnjlnllnmlnnlnslnulnwlnzloaloblocloeloflog"
    "lohloilojloklollomlonlooloploqlorloslotloulovlowloxloylozlpalpelpnlpolpxlqrlralrclrelrglrilrklrllrmlrnlrolrr"
    "lrtlrvlrzlsalsblsclsdlselshlsilsllsmlsnlsolsplsrlsslstlsvlswlsyltcltglthltiltnltoltsltultzlualublucludlueluf"
    "lugluilujluklullumlunluolupluqlurluslutluuluvluwluyluzlvalvilvklvslvulwalwelwglwhlwllwmlwolwslwtlwulwwlxmlya"
    "lyglynlzhlzllznlzzmaamabmacmadmaemafmagmahmaimajmakmalmammanmaomapmaqmarmasmatmaumavmawmaxmaymazmbambbmbcmbd"
    "mbembfmbhmbimbjmbkmblmbmmbnmbombpmbqmbrmbsmbtmbumbvmbwmbxmbymbzmcamcbmccmcdmcemcfmcgmchmcimcjmckmclmcmmcnmco"
    "mcpmcqmcrmcsmctmcumcvmcwmcxmcymczmdamdbmdcmddmdemdfmdgmdhmdimdjmdkmdlmdmmdnmdpmdqmdrmdsmdtmdumdvmdwmdxmdymdz"
    "meamebmecmedmeemefmehmeimejmekmelmemmenmeomepmeqmermesmetmeumevmewmeymezmfamfbmfcmfdmfemffmfgmfhmfimfjmfkmfl"
    "mfmmfnmfomfpmfqmfrmfsmftmfumfvmfwmfxmfymfzmgamgbmgcmgdmgemgfmggmghmgimgjmgkmglmgmmgnmgomgpmgqmgrmgsmgtmgumgv"
    "mgwmgymgzmhamhbmhcmhdmhemhfmhgmhimhjmhkmhlmhmmhnmhomhpmhqmhrmhsmhtmhumhwmhxmhymhzmiamibmicmidmiemifmigmihmii"
    "mijmikmilmimminmiomipmiqmirmismitmiumiwmixmiymizmjbmjcmjdmjemjgmjhmjimjjmjkmjlmjmmjnmjomjpmjqmjrmjsmjtmjumjv"
    "mjwmjxmjymjzmkamkbmkcmkdmkemkfmkgmkhmkimkjmkkmklmkmmknmkomkpmkqmkrmksmktmkumkvmkwmkxmkymkzmlamlbmlcmlemlfmlg"
    "mlhmlimljmlkmllmlmmlnmlomlpmlqmlrmlsmltmlumlvmlwmlxmlzmmammbmmcmmdmmemmfmmgmmhmmimmjmmkmmlmmmmmnmmommpmmqmmr"
    "mmtmmummvmmwmmxmmymmzmnamnbmncmndmnemnfmngmnhmnimnjmnkmnlmnmmnnmnomnpmnqmnrmnsmnumnvmnwmnxmnymnzmoamocmodmoe"
    "mogmohmoimojmokmommonmoomopmoqmormosmotmoumovmowmoxmoymozmpampbmpcmpdmpempgmphmpimpjmpkmplmpmmpnmpomppmpqmpr"
    "mpsmptmpumpvmpwmpxmpympzmqamqbmqcmqemqfmqgmqhmqimqjmqkmqlmqmmqnmqomqpmqqmqrmqsmqtmqumqvmqwmqxmqymqzmramrbmrc"
    "mrdmremrfmrgmrhmrimrjmrkmrlmrmmrnmromrpmrqmrrmrsmrtmrumrvmrwmrxmrymrzmsamsbmscmsdmsemsfmsgmshmsimsjmskmslmsm"
    "msnmsomspmsqmsrmssmsumsvmswmsxmsymszmtamtbmtcmtdmtemtfmtgmthmtimtjmtkmtlmtmmtnmtomtpmtqmtrmtsmttmtumtvmtwmtx"
    "mtymuamubmucmudmuemugmuhmuimujmukmulmummunmuomupmuqmurmusmutmuumuvmuxmuymuzmvamvbmvdmvemvfmvgmvhmvimvkmvlmvn"
    "mvomvpmvqmvrmvsmvtmvumvvmvwmvxmvymvzmwamwbmwcmwemwfmwgmwhmwimwkmwlmwmmwnmwomwpmwqmwrmwsmwtmwumwvmwwmwzmxamxb"
    "mxcmxdmxemxfmxgmxhmximxjmxkmxlmxmmxnmxomxpmxqmxrmxsmxtmxumxvmxwmxxmxymxzmyamybmycmyemyfmygmyhmyjmykmylmymmyn"
    "myomypmyrmysmyumyvmywmyxmyymyzmzamzbmzcmzdmzemzgmzhmzimzjmzkmzlmzmmznmzomzpmzqmzrmzsmztmzumzvmzwmzxmzymzznaa"
    "nabnacnaenafnagnahnainajnaknalnamnannaonapnaqnarnasnatnaunavnawnaxnaynaznbanbbnbcnbdnbenbgnbhnbinbjnbknblnbm"
    "nbnnbonbpnbqnbrnbsnbtnbunbvnbwnbyncancbnccncdncencfncgnchncincjncknclncmncnnconcqncrncsnctncuncxnczndandbndc"
    "nddndendfndgndhndindjndkndlndmndnndondpndqndrndsndtndundvndwndxndyndzneanebnecnedneenefnegnehneinejneknemnen"
    "neonepneqnernesnetneunevnewnexneyneznfanfdnflnfrnfungangbngcngdngengfnggnghngingjngknglngmngnngpngqngrngsngt"
    "ngungvngwngxngyngznhanhbnhcnhdnhenhfnhgnhhnhinhknhmnhnnhonhpnhqnhrnhtnhunhvnhwnhxnhynhznianibnicnidnienifnig"
    "nihniinijniknilnimninnioniqnirnisnitniunivniwnixniyniznjanjbnjdnjhnjinjjnjlnjmnjnnjonjrnjsnjtnjunjxnjynjznka"
    "nkbnkcnkdnkenkfnkgnkhnkinkjnkknkmnknnkonkpnkqnkrnksnktnkunkvnkwnkxnkznlanlcnldnlenlgnlinljnlknllnlmnlonlqnlu"
    "nlvnlwnlxnlynlznmanmbnmcnmdnmenmfnmgnmhnminmjnmknmlnmmnmnnmonmpnmqnmrnmsnmtnmunmvnmwnmxnmynmznnannbnncnndnne"
    "nnfnngnnhnninnjnnknnlnnmnnnnnonnpnnqnnrnntnnunnvnnwnnynnznoanobnocnodnoenofnognohnoinojnoknolnomnonnopnoqnor"
    "nosnotnounovnownoynoznpanpbnpgnphnpinplnpnnponpsnpunpxnpynqgnqknqlnqmnqnnqonqqnqtnqynranrbnrcnrenrfnrgnrinrk"
    "nrlnrmnrnnrpnrrnrtnrunrxnrznsansbnscnsdnsensfnsgnshnsinsknslnsmnsnnsonspnsqnsrnssnstnsunsvnswnsxnsynszntdnte"
    "ntgntintjntkntmntontpntrntuntwntxntyntznuanubnucnudnuenufnugnuhnuinujnuknulnumnunnuonupnuqnurnusnutnuunuvnuw"
    "nuxnuynuznvhnvmnvonwanwbnwcnwenwgnwinwmnwonwrnwwnwxnwynxanxdnxenxgnxinxknxlnxmnxnnxonxqnxrnxxnyanybnycnydnye"
    "nyfnygnyhnyinyjnyknylnymnynnyonypnyqnyrnysnytnyunyvnywnyxnyynzanzbnzdnzinzknzmnzsnzunzynzzoaaoacoaroavobiobk"
    "oblobmoboobrobtobuocaochociocmocoocuodaodkodtoduofoofsofuogbogcogeoggogooguohtohuoiaoieoinojbojcojgojiojpojs"
    "ojvojwokaokbokcokdokeokgokhokiokjokkoklokmoknokookroksokuokvokxokzolaoldoleolkolmoloolroltoluomaombomcomgomi"
    "omkomlomnomoompomqomromtomuomvomwomxomyonaonboneongonionjonkonnonoonponronsontonuonwonxoodoogoonooroosopaopk"
    "opmopooptopyoraorcoreorgorhoriormornoroorrorsortoruorvorworxoryorzosaoscosiosnosoospossostosuosxotaotbotdote"
    "otiotkotlotmotnotootqotrotsottotuotwotxotyotzouaouboueouioumovdowiowloyboydoymoyyozmpaapabpacpadpaepafpagpah"
    "paipakpalpampanpaopappaqparpaspaupavpawpaxpaypazpbbpbcpbepbfpbgpbhpbipblpbmpbnpbopbppbrpbspbtpbupbvpbypcapcb"
    "pccpcdpcepcfpcgpchpcipcjpckpclpcmpcnpcppcwpdapdcpdipdnpdopdtpdupeapebpedpeepefpegpehpeipejpekpelpempeopeppeq"
    "perpespevpexpeypezpfapfepflpgapgdpggpgipgkpglpgnpgspgupgzphaphdphgphhphiphjphkphlphmphnphophqphrphtphuphvphw"
    "piapibpicpidpiepifpigpihpijpilpimpinpiopippirpispitpiupivpiwpixpiypizpjtpkapkbpkcpkgpkhpknpkopkppkrpkspktpku"
    "plaplbplcpldpleplfplgplhplipljplkpllplnploplqplrplspltpluplvplwplyplzpmapmbpmdpmepmfpmhpmipmjpmkpmlpmmpmnpmo"
    "pmqpmrpmspmtpmwpmxpmypmzpnapnbpncpndpnepngpnhpnipnjpnkpnlpnmpnnpnopnppnqpnrpnspntpnupnvpnwpnxpnypnzpocpoepof"
    "pogpohpoipokpolpomponpoopoppoqporpospotpovpowpoxpoypozppeppippkpplppmppnppopppppqppspptppupqapqepqmpqwpraprc"
    "prdpreprfprgprhpriprkprlprmprnproprpprqprrprsprtpruprwprxprzpsapscpsdpsepsgpshpsipslpsmpsnpsopsppsqpsrpsspst"
    "psupswpsyptapthptiptnptoptpptqptrpttptuptvptwptypuapubpucpudpuepufpugpuipujpumpuopuppuqpurpusputpuupuwpuxpuy"
    "pwapwbpwgpwipwmpwnpwopwrpwwpxmpyepympynpyspyupyxpyypzhpznquaqubqucqudquequfqugquhquiqukqulqumqunqupquqqurqus"
    "quvquwquxquyquzqvaqvcqveqvhqviqvjqvlqvmqvnqvoqvpqvsqvwqvyqvzqwaqwcqweqwhqwmqwsqwtqxaqxcqxhqxlqxnqxoqxpqxqqxr"
    "qxsqxtqxuqxwqyaqypraarabracradrafragrahrairajrakralramranraorapraqrarrasratrauravrawraxrayrazrbbrbkrblrbprcf"
    "rdbrearebreeregreirejrelremrenrerresretreyrgargergkrgnrgrrgsrgurhgrhpriaribrifrilrimrinrirritriurjgrjirjsrka"
    "rkbrkhrkirkmrktrkwrmarmbrmcrmdrmermfrmgrmhrmirmkrmlrmmrmnrmormprmqrmsrmtrmurmvrmwrmxrmyrmzrnbrndrngrnlrnnrnp"
    "rnrrnwroarobrocrodroerofrogrohrolromronrooroprorrourowrpnrptrrirrorrtrsbrskrslrsmrsnrtcrthrtmrtsrtwrubrucrue"
    "rufrugruhruirukrumrunruorupruqrusrutruuruyruzrwarwkrwlrwmrworwrrxdrxwrynrysryurzhsaasabsacsadsaesafsagsahsai"
    "sajsaksalsamsansaosaqsarsassatsausavsawsaxsaysazsbasbbsbcsbdsbesbfsbgsbhsbisbjsbksblsbmsbnsbosbpsbqsbrsbssbt"
    "sbusbvsbwsbxsbysbzscbscescfscgschsciscksclscnscoscpscqscssctscuscvscwscxsdasdbsdcsdesdfsdgsdhsdjsdksdlsdnsdo"
    "sdpsdqsdrsdssdtsdusdvsdxsdzseasebsecsedseesefsegsehseisejsekselsemsenseosepseqsersessetseusevsewseysezsfbsfe"
    "sfmsfssfwsgasgbsgcsgdsgesggsghsgisgjsgksgmsgnsgpsgrsgssgtsgusgwsgxsgysgzshashbshcshdsheshgshhshishjshkshlshm"
    "shnshoshpshqshrshsshtshushvshwshxshyshzsiasibsidsiesifsigsihsiisijsiksilsimsinsiosipsiqsirsissitsiusivsiwsix"
    "siysizsjasjbsjdsjesjgsjksjlsjmsjnsjosjpsjrsjssjtsjusjwskaskbskcskdskeskfskgskhskiskjskmsknskoskpskqskrsksskt"
    "skuskvskwskxskyskzslaslcsldsleslfslgslhslisljslksllslmslnsloslpslqslrslssltsluslvslwslxslyslzsmasmbsmcsmesmf"
    "smgsmhsmismjsmksmlsmmsmnsmosmpsmqsmrsmssmtsmusmvsmwsmxsmysmzsnasncsndsnesnfsngsnisnjsnksnlsnmsnnsnosnpsnqsnr"
    "snssnusnvsnwsnxsnysnzsoasobsocsodsoesogsohsoisojsoksolsomsonsoosopsoqsorsossotsousovsowsoxsoysozspaspbspcspd"
    "spespgspispksplspmspnsposppspqsprspssptspuspvspxspysqasqhsqisqjsqksqmsqnsqosqqsqrsqssqtsqusqxsrasrbsrcsrdsre"
    "srfsrgsrhsrisrksrlsrmsrnsrosrpsrqsrrsrssrtsrusrvsrwsrxsrysrzssassbsscssdssessfssgsshssissjssksslssmssnssossp"
    "ssqssrssssstssussvsswssxssysszstastbstdstestfstgsthstistjstkstlstmstnstostpstqstrstssttstustvstwstysuasubsuc"
    "suesugsuisujsuksunsuosuqsursussutsuvsuwsuxsuysuzsvasvbsvcsvesvksvmsvssvxswaswbswcsweswfswgswhswiswjswkswlswm"
    "swnswoswpswqswrswsswtswuswvswwswxswysxbsxcsxesxgsxksxlsxmsxnsxosxrsxssxusxwsyasybsycsydsyisyksylsymsynsyosyr"
    "syssywsyxsyyszaszbszcszdszeszgszlsznszpszsszvszwszytaatabtactadtaetaftagtahtaitajtaktaltamtantaotaptaqtartas"
    "tattautavtawtaxtaytaztbatbctbdtbetbftbgtbhtbitbjtbktbltbmtbntbotbptbqtbrtbstbttbutbvtbwtbxtbytbztcatcbtcctcd"
    "tcetcftcgtchtcitcktcltcmtcntcotcptcqtcstcttcutcwtcxtcytcztdatdbtdctddtdetdftdgtdhtditdjtdktdltdmtdntdotdqtdr"
    "tdstdttdvtdxtdyteatebtectedteeteftegtehteitekteltemtenteotepteqtertestetteutevtewtexteyteztfitfntfotfrtfttga"
    "tgbtgctgdtgetgftghtgitgjtgktgltgntgotgptgqtgrtgstgttgutgvtgwtgxtgytgzthathdthethfthhthithkthlthmthnthpthqthr"
    "thsthtthuthvthythztiatibtictiftigtihtiitijtiktiltimtintiotiptiqtirtistittiutivtiwtixtiytiztjatjgtjitjjtjltjm"
    "tjntjotjptjstjutjwtkatkbtkdtketkftkgtkltkmtkntkptkqtkrtkstkttkutkvtkwtkxtkztlatlbtlctldtlftlgtlhtlitljtlktll"
    "tlmtlntlotlptlqtlrtlstlttlutlvtlxtlytmatmbtmctmdtmetmftmgtmhtmitmjtmktmltmmtmntmotmqtmrtmstmttmutmvtmwtmytmz"
    "tnatnbtnctndtngtnhtnitnktnltnmtnntnotnptnqtnrtnstnttnutnvtnwtnxtnytnztobtoctodtoftogtohtoitojtoktoltomtontoo"
    "toptoqtortostoutovtowtoxtoytoztpatpctpetpftpgtpitpjtpktpltpmtpntpotpptpqtprtpttputpvtpwtpxtpytpztqbtqltqmtqn"
    "tqotqptqqtqrtqttqutqwtratrbtrctrdtretrftrgtrhtritrjtrktrltrmtrntrotrptrqtrrtrstrttrutrvtrwtrxtrytrztsatsbtsc"
    "tsdtsetsgtshtsitsjtsktsltsmtsntsotsptsqtsrtsststtsutsvtswtsxtsytszttattbttcttdttettfttgtthttittjttkttlttmttn"
    "ttottpttqttrttstttttuttvttwttyttztuatubtuctudtuetuftugtuhtuitujtuktultumtuntuotuptuqturtustuttuutuvtuwtuxtuy"
    "tuztvatvdtvetvktvltvmtvntvotvstvttvutvwtvxtvytwatwbtwctwdtwetwftwgtwhtwitwltwmtwntwotwptwqtwrtwttwutwwtwxtwy"
    "txatxbtxctxetxgtxhtxitxjtxmtxntxotxqtxrtxstxttxutxxtxytyatyetyhtyityjtyltyntyptyrtystyttyutyvtyxtyytyztzatzh"
    "tzjtzltzmtzntzotzxuamuanuarubaubiublubrubuubyudaudeudgudiudjudludmuduuesufiugaugbugeughugnugougyuhauhnuiguis"
    "uivujiukaukgukhukiukkuklukpukqukruksukuukvukwukyulaulbulculeulfuliulkullulmulnuluulwumaumbumcumdumgumiummumn"
    "umoumpumrumsumuunaunduneunguniunkunmunnunrunuunxunzuonupiupvuraurburcurdureurfurgurhuriurjurkurlurmurnurourp"
    "urrurturuurvurwurxuryurzusaushusiuskuspussusuutauteuthutputrutuuumuuruuuuveuvhuvluwauyauzbuznuzsvaavaevafvag"
    "vahvaivajvalvamvanvaovapvarvasvauvavvayvbbvbkvecvedvelvemvenveovepvervgrvgtvicvidvievifvigvilvinvisvitvivvka"
    "vkjvkkvklvkmvknvkovkpvktvkuvkzvlpvlsvmavmbvmcvmdvmevmfvmgvmhvmivmjvmkvmlvmmvmpvmqvmrvmsvmuvmvvmwvmxvmyvmzvnk"
    "vnmvnpvolvorvotvravrovrsvrtvsivslvsvvtovumvunvutvwawaawabwacwadwaewafwagwahwaiwajwakwalwamwanwaowapwaqwarwas"
    "watwauwavwawwaxwaywazwbawbbwbewbfwbhwbiwbjwbkwblwbmwbpwbqwbrwbswbtwbvwbwwcawciwddwdgwdjwdkwdtwduwdyweawecwed"
    "wegwehweiwelwemwenweowepwerweswetweuwewwfgwgawgbwggwgiwgowguwgywhawhgwhkwhuwibwicwiewifwigwihwiiwijwikwilwim"
    "winwirwiuwivwiywjawjiwkawkbwkdwklwkrwkuwkwwkywlawlcwlewlgwlhwliwlkwllwlmwlnwlowlrwlswluwlvwlwwlxwlywmawmbwmc"
    "wmdwmewmgwmhwmiwmmwmnwmowmswmtwmwwmxwnbwncwndwnewngwniwnkwnmwnnwnownpwnuwnwwnywoawobwocwodwoewofwogwoiwokwol"
    "womwonwooworwoswowwoywpcwrbwrgwrhwriwrkwrlwrmwrnwrowrpwrrwrswruwrvwrwwrxwrywrzwsawsgwsiwskwsrwsswsuwsvwtfwth"
    "wtiwtkwtmwtwwuawubwudwuhwulwumwunwurwutwuuwuvwuxwuywwawwbwwowwrwwwwxawxwwybwyiwymwynwyrwyyxaaxabxacxadxaexag"
    "xaixajxakxalxamxanxaoxapxaqxarxasxatxauxavxawxayxbbxbcxbdxbexbgxbixbjxbmxbnxboxbpxbrxbwxbyxcbxccxcexcgxchxcl"
    "xcmxcnxcoxcrxctxcuxcvxcwxcyxdaxdcxdkxdmxdoxdqxdyxebxedxegxelxemxepxerxesxetxeuxfaxgaxgbxgdxgfxggxgixglxgmxgn"
    "xgrxguxgwxhaxhcxhdxhexhmxhoxhrxhtxhuxhvxibxiixilxinxirxisxivxiyxjbxjtxkaxkbxkcxkdxkexkfxkgxkixkjxkkxklxknxko"
    "xkpxkqxkrxksxktxkuxkvxkwxkxxkyxkzxlaxlbxlcxldxlexlgxlixlnxloxlpxlsxluxlyxmaxmbxmcxmdxmexmfxmgxmhxmjxmkxmlxmm"
    "xmnxmoxmpxmqxmrxmsxmtxmuxmvxmwxmxxmyxmzxnaxnbxndxngxnhxnixnjxnkxnmxnnxnoxnqxnrxnsxntxnuxnyxnzxocxodxogxoixok"
    "xomxonxooxopxorxowxpaxpbxpcxpdxpexpfxpgxphxpixpjxpkxplxpmxpnxpoxppxpqxprxpsxptxpuxpvxpwxpxxpyxpzxqaxqtxraxrb"
    "xrdxrexrgxrixrmxrnxrrxrtxruxrwxsaxsbxscxsdxsexshxsixsjxslxsmxsnxsoxspxsqxsrxssxsuxsvxsyxtaxtbxtcxtdxtextgxth"
    "xtixtjxtlxtmxtnxtoxtpxtqxtrxtsxttxtuxtvxtwxtyxuaxubxudxugxujxulxumxunxuoxupxurxutxuuxvexvixvnxvoxvsxwaxwcxwd"
    "xwexwgxwjxwkxwlxwoxwrxwtxwwxxbxxkxxmxxrxxtxyaxybxyjxykxylxytxyyxzhxzmxzpyaayabyacyadyaeyafyagyahyaiyajyakyal"
    "yamyanyaoyapyaqyaryasyatyauyavyawyaxyayyazybaybbybeybhybiybjybkyblybmybnyboybxybyychyclycnycpydayddydeydgydk"
    "yeayecyeeyeiyejyelyeryesyetyeuyevyeyygaygiyglygmygpygrygsyguygwyhayhdyhlyhsyiayidyifyigyihyiiyijyikyilyimyin"
    "yipyiqyiryisyityiuyivyixyizykaykgykiykkyklykmyknykoykryktykuykyylaylbyleylgyliyllylmylnyloylryluylyymbymcymd"
    "ymeymgymhymiymkymlymmymnymoympymqymrymsymxymzynayndyneyngynkynlynnynoynqynsynuyobyogyoiyokyolyomyonyoryotyox"
    "yoyypaypbypgyphypkypmypnypoyppypzyrayrbyreyrkyrlyrmyrnyroyrsyrwyryyscysdysgyslysmysnysoyspysryssysyytaytlytp"
    "ytwytyyuayubyucyudyueyufyugyuiyujyukyulyumyunyupyuqyuryutyuwyuxyuyyuzyvayvtywaywgywlywnywqywrywtywuywwyxayxg"
    "yxlyxmyxuyxyyyryyuyyzyzgyzkzaazabzaczadzaezafzagzahzaizajzakzalzamzaozapzaqzarzaszatzauzavzawzaxzayzazzbazbc"
    "zbezblzbtzbuzbwzcazcdzchzdjzeazegzehzenzgazgbzghzgmzgnzgrzhazhbzhdzhizhnzhozhwzhxziazibzikzilzimzinziwzizzka"
    "zkbzkdzkgzkhzkkzknzkozkpzkrzktzkuzkvzkzzlazlezljzlmzlnzlqzlszlwzmazmbzmczmdzmezmfzmgzmhzmizmjzmkzmlzmmzmnzmo"
    "zmpzmqzmrzmszmtzmuzmvzmwzmxzmyzmzznazndznezngznkznszoczohzomzoozoqzorzoszpazpbzpczpdzpezpfzpgzphzpizpjzpkzpl"
    "zpmzpnzpozppzpqzprzpszptzpuzpvzpwzpxzpyzpzzqezrazrgzrnzrozrpzrszsazskzslzsmzsrzsuzteztgztlztmztnztpztqztsztt"
    "ztuztxztyzuazuhzulzumzunzuyzwazxxzybzygzyjzynzypzzazzj";

const size_t iso_triple_count = sizeof iso_triples / 3;
