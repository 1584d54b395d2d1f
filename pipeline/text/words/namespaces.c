/* The names of the namespaces of files and categories on the wikis of all languages, with their aliases: a dump's head
 * may name others, and never has the aliases. Folded and sorted. */
#include "pipeline/text/words/links.h"

// clang-format off
const struct words file_namespaces = WORDS(
    "afbeelding", "archivi", "archivo", "arquivo", "athchló", "attel", "attels", "attēls", "berkas", "bestand",
    "bewise", "bild", "bilde", "bildo", "billed", "billede", "bisera", "byld", "dataja", "datei", "delwedd",
    "dosiero", "dosya", "dosye", "dwatay", "eikona", "eikón", "fail", "faili", "fasciculus", "fayl", "ficheiro",
    "fichier", "fichièr", "fil", "file", "filo", "fisier", "fisièr", "fitxategi", "fitxer", "fitxèr", "fişier",
    "fișier", "fájl", "gambar", "grafik", "grafika", "gàta", "hình", "hình ảnh", "image", "imagem", "imagen",
    "imagine", "imatge", "imaxe", "imazhi", "imej", "imidž", "immagine", "immàgini", "irudi", "kuva", "kép",
    "larawan", "lêer", "mynd", "mynsdur", "obraz", "obrázek", "obrázok", "ofbyld", "pilt", "plik", "ratopi", "resim",
    "restr", "rfayl", "sary", "sawir", "skeda", "skedari", "skrá", "slika", "slike", "snimek", "soubor", "soubôr",
    "surat", "súbor", "tasvir", "tiedosto", "tyɣ", "tập tin", "tệp", "vaistas", "vaizdas", "wobraz", "wêne", "ìfilə",
    "ìmmagine", "íomhá", "şekil", "şəkil", "αρχείο", "εικόνα", "билэ", "выява", "датотека", "зображення", "зураг",
    "изображение", "изображения", "картинка", "картинки", "малюнак", "ныв", "нывв", "податотека", "рәсем", "рәсим",
    "рәсім", "серпас", "слика", "сурат", "суратҳо", "сурет", "сүрөт", "файл", "файла", "файле", "хоөрш", "ѳкерчӗк",
    "ӳкерчĕк", "ӳкерчӗк", "պատկեր", "קובץ", "תמונה", "تصویر", "دوتنه", "صورة", "فائل", "ملف", "وێنە", "پرونده",
    "پەڕگە", "چترک", "ھۆججەت", "किपा", "चित्र", "चित्रम्", "दृश्यम्", "फ़ाइल", "सञ्चिका", "চিত্র", "ছবি", "ফাইল",
    "ਤਸਵੀਰ", "ફાઇલ", "ଫାଇଲ", "கோப்பு", "படிமம்", "దస్త్రం", "బొమ్మ", "ಚಿತ್ರ", "ಫೈಲ್", "ചിത്രം", "പ്രമാണം", "ගොනුව",
    "රූපය", "ภาพ", "ไฟล์", "ຮູບ", "རྟགས", "ပုံ", "ဖိုင်", "სურათი", "ფაილი", "ስዕል", "ፋይል", "រូបភាព", "ឯកសារ",
    "ⴰⴼⴰⵢⵍⵓ", "ファイル", "图像", "圖像", "文件", "文檔", "档案", "檔案", "画像", "ꮕꮹ", "그림", "파일");

const struct words category_namespaces = WORDS(
    "abdeeling", "afdeling", "bólkur", "catagory", "catagóir", "categori", "categoria", "categorie", "category",
    "categorìa", "categoría", "categoríes", "categorîa", "categuria", "cateoria", "catigoria", "catigurìa",
    "catègorie", "catégorie", "flocc", "flokkur", "jamii", "kaarangay", "kahanga", "kateggoría", "kategooria",
    "kategori", "kategoria", "kategorie", "kategorien", "kategoriija", "kategorija", "kategorin", "kategorio",
    "kategoriye", "kategoriýa", "kategory", "kategorya", "kategorî", "kategória", "kateqoriya", "katiguriya",
    "katégori", "kawan", "luokka", "luokku", "roinn-seòrsa", "ronney", "rukuni", "rummad", "setensele", "sokajy",
    "sınıf", "thể loại", "ñemohenda", "κατηγορία", "ангилал", "к", "кадегорї", "категори", "категория", "категорија",
    "категорія", "категорї", "катъӗ", "катэгорыя", "катэгорія", "санат", "төркем", "կատեգորիա", "קאטעגאריע",
    "קטגוריה", "تصنيف", "تۈر", "رده", "زمرہ", "وېشنيزه", "پۆل", "पुचः", "वर्ग", "वर्गः", "श्रेणी", "বিষয়শ্রেণী",
    "শ্রেণী", "ਸ਼੍ਰੇਣੀ", "શ્રેણી", "ଶ୍ରେଣୀ", "பகுப்பு", "వర్గం", "ವರ್ಗ", "വർഗ്ഗം", "ප්‍රවර්ගය", "විෂය", "หมวดหมู่",
    "ໝວດ", "འགྲེས", "ကဏ္ဍ", "კატეგორია", "መደብ", "កុំរោង", "ចំណាត់ថ្នាក់ក្រុម", "ẹ̀ka", "カテゴリ", "分类", "分類", "분류");
// clang-format on
